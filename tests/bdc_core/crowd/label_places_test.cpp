// What a folder or zip file stands for: whose files, and of which split.
#include <unistd.h>

#include <filesystem>

#include "bdc_core/crowd/make_zip.h"
#include "bdc_core/crowd/read_with_notes.h"

namespace bdc::test {
namespace {

using Files = std::vector<std::pair<std::string, std::string>>;

std::string coco(const std::string& image) {
  return R"({"images": [{"id": 1, "file_name": ")" + image +
         R"(", "width": 90, "height": 80}], "categories": [{"id": 1, "name": "car"}], "annotations": [{"id": 1,
            "image_id": 1, "category_id": 1, "bbox": [0, 0, 5, 5]}]})";
}

const std::string kTable = "image,label,xmin,ymin,xmax,ymax\na.jpg,car,0,0,5,5\n";
const std::string kVia =
    "filename,file_size,file_attributes,region_count,region_id,region_shape_attributes,"
    "region_attributes\na.jpg,9,\"{}\",1,0,\"{\"\"name\"\":\"\"rect\"\",\"\"x\"\":1,\"\"y\"\":1,"
    "\"\"width\"\":5,\"\"height\"\":5}\",\"{\"\"type\"\":\"\"car\"\"}\"\n";

/// The same files in a zip file and in a folder.
std::vector<std::string> both(const TemporaryFolder& folder, const std::string& name, const Files& files) {
  for (const auto& [file, text] : files) folder.write(name + "/" + file, text);
  return {make_zip(folder / (name + ".zip"), files), folder / name};
}

TEST(LabelPlaces, FilesOfOneNameInAZipFileOrFolderAreToldApartByTheirFolders) {
  const TemporaryFolder folder;
  int n = 0;
  for (const Files& files : std::vector<Files>{
           {{"ann/labels.csv", kTable}, {"bob/labels.csv", kTable}},
           {{"ann.csv", kTable}, {"bob.csv", kTable}},
           {{"ann/via.csv", kVia}, {"bob/via.csv", kVia}},
           {{"ann.json", coco("a.jpg")}, {"bob.json", coco("a.jpg")}},
           {{"ann/annotations/instances_default.json", coco("a.jpg")},
            {"bob/annotations/instances_default.json", coco("a.jpg")}},
           {{"project/ann/labels.csv", kTable}, {"project/bob/labels.csv", kTable}},
       }) {
    for (const std::string& path : both(folder, "q" + std::to_string(++n), files)) {
      const CrowdData data = read_crowd({path});
      EXPECT_EQ(annotators_of(data), (Names{"ann", "bob"})) << path << " " << files[0].first;
      EXPECT_EQ(data.images.size(), 1U) << path;
      EXPECT_EQ(data.annotations.size(), 2U) << path;
    }
  }
}

TEST(LabelPlaces, WhatTellsNobodyApartIsRefused) {
  const TemporaryFolder folder;
  for (const std::string& path :
       both(folder, "q", {{"a/x/l.csv", kTable}, {"a/y/l.csv", kTable}, {"b/x/l.csv", kTable}})) {
    const std::string error = error_of([&] { (void)read_crowd({path}); });
    EXPECT_NE(error.find("no single folder tells who drew"), std::string::npos) << error;
  }
}

TEST(LabelPlaces, AnnotatorsOfSeveralZipFilesAreNamedAfterThemOrTheirFiles) {
  const TemporaryFolder folder;
  const std::string ann = make_zip(folder / "ann.zip", {{"annotations/instances_default.json", coco("a.jpg")}});
  const std::string bob = make_zip(folder / "bob.zip", {{"annotations/instances_default.json", coco("a.jpg")}});
  EXPECT_EQ(annotators_of(read_crowd({ann, bob})), (Names{"ann", "bob"}));
  const std::string two = make_zip(folder / "two.zip", {{"eve.csv", kTable}, {"dan.csv", kTable}});
  const std::string one = make_zip(folder / "one.zip", {{"table.csv", kTable}});
  EXPECT_EQ(annotators_of(read_crowd({one, two})), (Names{"one", "dan", "eve"}));
}

TEST(LabelPlaces, SplitsOfCocoFilesAreReadAndKeptApart) {
  const TemporaryFolder folder;
  const auto check = [&](const std::string& name, const Files& files, const Names& who) {
    for (const std::string& path : both(folder, name, files)) {
      EXPECT_EQ(label_splits(path), (Names{"train", "val", "test"})) << path;
      std::vector<std::string> notes;
      ReadOptions options;
      options.notes = &notes;
      EXPECT_EQ(annotators_of(read_crowd({path}, options)), who) << path;
      bool told = false;
      for (const std::string& note : notes) told = told || note.find("are splits of one data set") < note.size();
      EXPECT_TRUE(told) << path;
      for (const char* split : {"train", "val", "test"}) {
        options.split = split;
        const CrowdData part = read_crowd({path}, options);
        EXPECT_EQ(annotators_of(part), who) << path << " " << split;
        EXPECT_EQ(part.images.size(), 1U) << path << " " << split;
        EXPECT_EQ(part.images.at(0).file, std::string(split) + ".jpg") << path;
      }
    }
  };
  check("roboflow",
        {{"train/_annotations.coco.json", coco("train.jpg")},
         {"valid/_annotations.coco.json", coco("val.jpg")},
         {"test/_annotations.coco.json", coco("test.jpg")}},
        {"roboflow"});
  check("official",
        {{"annotations/instances_train2017.json", coco("train.jpg")},
         {"annotations/instances_val2017.json", coco("val.jpg")},
         {"annotations/instances_test2017.json", coco("test.jpg")}},
        {"official"});
  check("crowd",
        {{"ann/train/_annotations.coco.json", coco("train.jpg")},
         {"ann/valid/_annotations.coco.json", coco("val.jpg")},
         {"ann/test/_annotations.coco.json", coco("test.jpg")},
         {"bob/train/_annotations.coco.json", coco("train.jpg")},
         {"bob/valid/_annotations.coco.json", coco("val.jpg")},
         {"bob/test/_annotations.coco.json", coco("test.jpg")}},
        {"ann", "bob"});
  check("files",
        {{"ann/train.json", coco("train.jpg")},
         {"ann/val.json", coco("val.jpg")},
         {"bob/train.json", coco("train.jpg")},
         {"bob/val.json", coco("val.jpg")},
         {"bob/test.json", coco("test.jpg")},
         {"ann/test.json", coco("test.jpg")}},
        {"ann", "bob"});
  ReadOptions options;
  options.split = "val";
  folder.write("half/train.json", coco("a.jpg"));
  const std::string error = error_of([&] { (void)read_crowd({folder / "half"}, options); });
  EXPECT_NE(error.find("expected the split \"val\", found train"), std::string::npos) << error;
}

TEST(LabelPlaces, SplitsBelowAnnotatorsAndDataSetsAreSeen) {
  const TemporaryFolder folder;
  const auto label = [&](const std::string& path) { folder.write(path, "0 0.5 0.5 1 1\n"); };
  for (const char* split : {"train", "valid", "test"}) {
    const std::string inside = std::string("/") + split + "/labels/p" + split + ".txt";
    for (const char* above : {"l2/ann", "l2/bob", "par/proj"}) label(above + inside);
    label(std::string("u/coco8/labels/") + split + "/1" + split + ".txt");
    const std::string xml =
        "<annotation><filename>a.jpg</filename><size><width>9</width><height>9</height></size></annotation>";
    folder.write("voc/ann/" + std::string(split) + "/" + split + ".xml", xml);
    folder.write("sup/" + std::string(split) + "/ann/" + split + "1.jpg.json",
                 R"({"size": {"width": 9, "height": 9}, "objects": []})");
  }
  for (const char* path : {"l2", "par", "u", "voc", "sup"}) {
    EXPECT_EQ(label_splits(folder / path), (Names{"train", "val", "test"})) << path;
  }
  label("plain/ann/street/test/1.txt");
  label("plain/bob/street/test/1.txt");
  EXPECT_EQ(label_splits(folder / "plain"), Names{}) << "a folder of images that is called test";
  folder.write("files/ann.json", coco("a.jpg"));
  folder.write("files/test.json", coco("a.jpg"));
  EXPECT_EQ(label_splits(folder / "files"), Names{}) << "not all are splits";
}

TEST(LabelPlaces, AFolderThatMayNotBeReadIsAnErrorOfTheData) {
  const TemporaryFolder folder;
  folder.write("set/secret/a.txt", "0 0.5 0.5 1 1\n");
  const std::filesystem::path secret = folder.path() / "set" / "secret";
  std::filesystem::permissions(secret, std::filesystem::perms::none);
  std::filesystem::permissions(folder.path(), std::filesystem::perms::all);
  const bool is_root = ::geteuid() == 0;  // who may read everything
  ASSERT_EQ(::seteuid(is_root ? 65534 : ::geteuid()), 0);
  std::string error;
  try {
    (void)read_crowd({folder / "set"});
  } catch (const std::exception& e) {
    error = dynamic_cast<const DataError*>(&e) != nullptr ? e.what() : "another error: " + std::string(e.what());
  }
  ASSERT_EQ(::seteuid(is_root ? 0 : ::geteuid()), 0);
  std::filesystem::permissions(secret, std::filesystem::perms::owner_all);
  EXPECT_NE(error.find("the folder cannot be read: Permission denied"), std::string::npos) << error;
  EXPECT_EQ(error.find("another error"), std::string::npos) << error;
}

TEST(LabelPlaces, FoldersBehindLinksAreReadOnce) {
  namespace fs = std::filesystem;
  const TemporaryFolder folder;
  const std::string xml = "<annotation><filename>a.jpg</filename></annotation>";
  folder.write("set/ann/a.xml", xml);
  folder.write("elsewhere/a.xml", xml);
  fs::create_directory_symlink(folder.path() / "elsewhere", folder / "set/bob");
  fs::create_directory_symlink("..", folder / "elsewhere/up");
  fs::create_directory_symlink("ann", folder / "set/latest");
  fs::create_directory_symlink(".", folder / "set/ann/here");
  EXPECT_EQ(annotators_of(read({folder / "set"}).data), (Names{"ann", "bob"}));
}

TEST(LabelPlaces, ALinkToNothingIsAnErrorAndNoMissingLabel) {
  const TemporaryFolder folder;
  folder.write("ann/a.xml", "<annotation><filename>a.jpg</filename></annotation>");
  std::filesystem::create_symlink("nowhere", folder / "ann/b.xml");
  const std::string error = error_of([&] { (void)read({folder / "ann"}); });
  EXPECT_NE(error.find("b.xml: is a link to a file or folder that does not exist"), std::string::npos) << error;
}

TEST(LabelPlaces, AFolderOfManifestsStandsForThem) {
  const TemporaryFolder folder;
  for (const char* who : {"ann", "bob"}) {
    folder.write("jobs/" + std::string(who) + "/output.manifest", read_file(data_path("sagemaker/output.manifest")));
  }
  EXPECT_EQ(annotators_of(read({folder / "jobs"}).data), (Names{"ann", "bob"}));
}

}  // namespace
}  // namespace bdc::test
