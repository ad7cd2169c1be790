// Labels in zip files, as labelling programs export them, and zip files that mean harm.
#include "bdc_core/crowd/io_support.h"
#include "bdc_core/crowd/make_zip.h"

namespace bdc::test {
namespace {

std::string cvat(const std::string& image) {
  return "<annotations><version>1.1</version><image id=\"0\" name=\"" + image +
         "\" width=\"90\" height=\"80\"><box label=\"car\" xtl=\"0\" ytl=\"0\" xbr=\"5\" "
         "ybr=\"5\"/></image></annotations>";
}

const std::string kCoco = R"({"images": [{"id": 1, "file_name": "a.jpg", "width": 90, "height": 80}],
  "categories": [{"id": 1, "name": "car"}], "annotations": [{"image_id": 1, "category_id": 1, "bbox": [0, 0, 5, 5]}]})";

std::string zip_error(const std::string& path) {
  return error_of([&] { static_cast<void>(read_crowd({path})); });
}

TEST(ZipFiles, ExportsAreReadAsTheyAreAndNamedAfterTheZip) {
  const TemporaryFolder folder;
  const std::string picture = data_text("yolo_images/img_p.png");
  const std::string ann = make_zip(folder / "ann.zip", {{"annotations.xml", cvat("a.jpg")}, {"images/a.jpg", "x"}});
  const std::string bob = make_zip(folder / "bob.zip", {{"annotations.xml", cvat("a.jpg")}});
  const CrowdData tasks = read_crowd({ann, bob});
  ASSERT_EQ(tasks.annotators.size(), 2U);
  EXPECT_EQ(tasks.annotators[0].id.text, "ann");
  EXPECT_EQ(tasks.annotators[1].id.text, "bob");
  EXPECT_EQ(tasks.images.size(), 1U);
  EXPECT_EQ(tasks.annotations.size(), 2U);

  const std::string coco = make_zip(folder / "eve.zip", {{"annotations/instances_default.json", kCoco}});
  EXPECT_EQ(read_crowd({coco}).annotators.at(0).id.text, "eve");

  const std::string studio = make_zip(folder / "ls.zip", {{"project-1.json", data_text("label_studio/export.json")}});
  EXPECT_EQ(read_crowd({studio}).images.size(), read_crowd({data_path("label_studio/export.json")}).images.size());

  const std::string yolo = make_zip(folder / "yolo.zip", {{"classes.txt", "car\n"},
                                                          {"labels/p.txt", "0 0.5 0.5 1 1\n"},
                                                          {"images/p.png", picture},
                                                          {"notes.json", "{\"categories\": 1}"}});
  const CrowdData labels = read_crowd({yolo});
  EXPECT_EQ(labels.annotators.at(0).id.text, "yolo");
  EXPECT_EQ(labels.classes.at(0).name, "car");
  EXPECT_EQ(labels.annotations.at(0).box, (Box{0, 0, 12, 7})) << "the size comes from the picture in the zip file";
}

TEST(ZipFiles, HostileOnesAreRefused) {
  const TemporaryFolder folder;
  const auto expect = [&](const std::string& found, const char* part) {
    EXPECT_NE(found.find(part), std::string::npos) << found;
  };
  const std::string outside = make_zip(folder / "outside.zip", {{"../evil.xml", cvat("a.jpg")}});
  expect(zip_error(outside), "the entry \"../evil.xml\" of this zip file is not inside the archive");
  EXPECT_FALSE(std::filesystem::exists(folder.path().parent_path() / "evil.xml"));
  expect(zip_error(make_zip(folder / "root.zip", {{"/etc/x.xml", "x"}})), "is not inside the archive");
  expect(zip_error(make_zip(folder / "drive.zip", {{"C:\\x.xml", "x"}})), "is not inside the archive");
  expect(zip_error(make_zip(folder / "same.zip", {{"a\\b.xml", "x"}, {"a/b.xml", "y"}})), "is given twice");
  expect(zip_error(make_zip(folder / "bomb.zip", {{"annotations.xml", std::string(40 << 20, ' ')}})),
         "unpacks to more than 300 times its size");
  std::string text = read_file(make_zip(folder / "cut.zip", {{"annotations.xml", cvat("a.jpg")}}));
  expect(zip_error(folder.write("cut.zip", text.substr(0, text.size() / 2))), "cut.zip: cannot be read as a zip file");
  text[text.find("annotations.xml") + 40] ^= 0x55;  // the packed bytes
  expect(zip_error(folder.write("broken.zip", text)), "broken.zip");
  expect(zip_error(make_zip(folder / "none.zip", {{"a.bin", "x"}})), "is not recognised");
}

TEST(ZipFiles, AFolderOfThemStandsForThem) {
  const TemporaryFolder folder;
  const std::string voc =
      "<annotation><filename>a.jpg</filename><size><width>9</width><height>9</height></size></annotation>";
  for (const char* who : {"ann", "bob"}) {
    const std::string name = who;
    for (const char* set : {"coco", "voc"}) folder.write(set + std::string("/README.md"), "two people");
    make_zip(folder / ("coco/" + name + ".zip"), {{"annotations/instances_default.json", kCoco}});
    make_zip(folder / ("voc/" + name + ".zip"), {{"Annotations/a.xml", voc}});
  }
  for (const char* set : {"coco", "voc"}) {
    std::vector<std::string> notes;
    ReadOptions options;
    options.notes = &notes;
    const CrowdData data = read_crowd({folder / set}, options);
    ASSERT_EQ(data.annotators.size(), 2U) << set;
    EXPECT_EQ(data.annotators[0].id.text, "ann") << set;
    EXPECT_EQ(data.annotators[1].id.text, "bob") << set;
    EXPECT_EQ(data.images.size(), 1U) << set;
    EXPECT_TRUE(notes.empty()) << set << ": " << notes.front();
  }
}

TEST(ZipFiles, NamesMayBeginWithADotAndWhatWasCutOffIsCalledSo) {
  const TemporaryFolder folder;
  EXPECT_EQ(
      read_crowd({make_zip(folder / "dot.zip", {{"./ann.json", kCoco}, {"./bob.json", kCoco}})}).annotators.size(), 2U);
  const std::string text = read_file(make_zip(folder / "cut.zip", {{"annotations.xml", cvat("a.jpg")}}));
  const std::string error = zip_error(folder.write("cut.zip", text.substr(0, text.size() / 2)));
  EXPECT_NE(error.find("it may have been cut off"), std::string::npos) << error;
}

TEST(ZipFiles, TenThousandFilesAreRead) {
  const TemporaryFolder folder;
  std::vector<std::pair<std::string, std::string>> files;
  for (int n = 0; n < 10000; ++n) {
    files.emplace_back("Annotations/" + std::to_string(n) + ".xml",
                       "<annotation><filename>" + std::to_string(n) +
                           ".jpg</filename><size><width>9</width><height>9</height></size></annotation>");
  }
  const std::string path = make_zip(folder / "many.zip", files);
  EXPECT_EQ(read_crowd({path}).images.size(), 10000U);
}

}  // namespace
}  // namespace bdc::test
