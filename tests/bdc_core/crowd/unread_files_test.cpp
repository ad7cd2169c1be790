// What lies in a folder of labels and is not read: nothing of it vanishes without a word.
#include <fstream>

#include "bdc/crowd/consensus.h"
#include "bdc_core/crowd/make_zip.h"
#include "bdc_core/crowd/read_with_notes.h"

namespace bdc::test {
namespace {

std::string coco(const std::string& image) {
  return R"({"images": [{"id": 1, "file_name": ")" + image +
         R"(", "width": 90, "height": 80}], "categories": [{"id": 1, "name": "car"}], "annotations": [{"id": 1,
            "image_id": 1, "category_id": 1, "bbox": [0, 0, 5, 5]}]})";
}

const std::string kTable = "image,label,xmin,ymin,xmax,ymax\na.jpg,car,0,0,5,5\n";
const std::string kVoc =
    "<annotation><filename>a.jpg</filename><size><width>90</width><height>80</height></size><object><name>car</name>"
    "<bndbox><xmin>0</xmin><ymin>0</ymin><xmax>5</xmax><ymax>5</ymax></bndbox></object></annotation>";
const std::string kLabelMe = R"({"imagePath": "a.jpg", "imageWidth": 90, "imageHeight": 80, "shapes": []})";

std::string refused(const std::string& path, const ReadOptions& options = {}) {
  return error_of([&] { (void)read({path}, options); });
}

TEST(UnreadFiles, ATableBesideAFilePerImageIsRefusedUnlessTheFormatIsNamed) {
  const TemporaryFolder folder;
  folder.write("voc/ann/a.xml", kVoc);
  folder.write("labelme/ann/a.json", kLabelMe);
  folder.write("yolo/ann/a.txt", "0 0.5 0.5 0.4 0.4\n");
  folder.write("all_sizes.csv", "a.jpg,90,80\n");
  for (const std::string format : {"voc", "labelme", "yolo"}) {
    folder.write(format + "/bob.csv", kTable);
    ReadOptions options;
    options.sizes_csv = folder / "all_sizes.csv";
    const std::string error = refused(folder / format, options);
    EXPECT_NE(error.find("holds labels of several formats: " + format + ", csv"), std::string::npos) << error;
    EXPECT_NE(error.find("bob.csv"), std::string::npos) << error;
    options.format = format;
    const Read found = read({folder / format}, options);
    EXPECT_EQ(annotators_of(found.data), Names{"ann"});
    EXPECT_TRUE(found.notes_have("bob.csv: is not read (labels of the format \"csv\")")) << found.all_notes();
  }
}

TEST(UnreadFiles, AnEmptyOrBrokenFileAmongOthersOfItsKindIsAnError) {
  const TemporaryFolder folder;
  folder.write("empty/ann.json", coco("a.jpg"));
  folder.write("empty/bob.json", "");
  EXPECT_NE(refused(folder / "empty").find("bob.json: is empty; expected labels as in the other files"),
            std::string::npos);
  folder.write("cut/ann.json", coco("a.jpg"));
  folder.write("cut/bob.json", "{\"ima");
  EXPECT_NE(refused(folder / "cut").find("bob.json: cannot be read"), std::string::npos);
  folder.write("image/ann/a.json", kLabelMe);
  folder.write("image/ann/b.json", "");
  EXPECT_NE(refused(folder / "image").find("b.json: is empty"), std::string::npos);
}

TEST(UnreadFiles, EveryOtherFileThatMayHoldLabelsGetsALine) {
  const TemporaryFolder folder;
  const auto note_of = [&](const std::string& set, const std::string& file, const std::string& text) {
    folder.write(set + "/ann.json", coco("a.jpg"));
    folder.write(set + "/" + file, text);
    const Read found = read({folder / set});
    EXPECT_EQ(annotators_of(found.data), Names{"ann"}) << set;
    return found.all_notes();
  };
  const std::vector<std::array<std::string, 4>> cases = {
      {"createml", "bob.json", R"([{"image": "a.jpg", "annotations": [{"label": "car", "coordinates": {"x": 1}}]}])",
       "bob.json: is not read (looks like Apple's CreateML"},
      {"other", "settings.json", R"({"colour": "red"})", "settings.json: is not read (no labels are recognised in it)"},
      {"heading", "bob.csv", "a.jpg,0,0,5,5,car\n", "bob.csv: is not read (looks like a table of boxes without"},
      {"gz", "bob.json.gz", "\x1F\x8B", "bob.json.gz: is not read (packed; unpack it first)"},
      {"zip", "bob.zip", "PK", "bob.zip: is not read (a zip file; name it by itself"},
      {"named", "bob.json.txt", coco("a.jpg"), "bob.json.txt: is not read (JSON or XML under another name"},
      {"lines", "bob.ndjson", "{\"image\": \"a.jpg\"}\n{}\n", "bob.ndjson: is not read ("},
  };
  for (const auto& [set, file, text, note] : cases) {
    const std::string notes = note_of(set, file, text);
    EXPECT_NE(notes.find(note), std::string::npos) << set << ": " << notes;
  }
  EXPECT_EQ(note_of("beside", "README.md", "labels"), "");
  EXPECT_EQ(note_of("lists", "ImageSets/Main/train.txt", "a\n"), "");
  EXPECT_EQ(note_of("programs", "convert.py", "pass"), "");
}

TEST(UnreadFiles, ManyAreCountedInOneLine) {
  const TemporaryFolder folder;
  folder.write("set/ann/a.xml", kVoc);
  for (int n = 0; n < 7; ++n) folder.write("set/more/" + std::to_string(n) + ".json", R"({"colour": "red"})");
  const Read found = read({folder / "set"});
  EXPECT_TRUE(found.notes_have("0.json and 6 more: are not read (no labels are recognised in it)"))
      << found.all_notes();
}

TEST(UnreadFiles, NotesOfProgramsAreToldInOneLine) {
  const TemporaryFolder folder;
  for (const char* name : {"ann.json", "README.dataset.txt", "README.roboflow.txt"}) {
    folder.write("set/" + std::string(name), coco("a.jpg"));
  }
  EXPECT_EQ(read({folder / "set"}).notes,
            Names{folder / "set/README.dataset.txt" + " and 1 more: are not taken for labels"});
}

TEST(UnreadFiles, OfASplitTheOthersAreNotMentioned) {
  const TemporaryFolder folder;
  folder.write("set/train/_annotations.coco.json", coco("a.jpg"));
  folder.write("set/valid/_annotations.coco.json", coco("b.jpg"));
  folder.write("voc/train/a.xml", kVoc);
  folder.write("voc/valid/b.xml", kVoc);
  ReadOptions options;
  options.split = "val";
  for (const char* set : {"set", "voc"}) {
    const Read found = read({folder / set}, options);
    EXPECT_EQ(found.data.images.size(), 1U) << set;
    EXPECT_FALSE(found.notes_have("not read")) << found.all_notes();
  }
}

/// A consensus as `aggregate -o` writes it.
std::string consensus(const TemporaryFolder& folder, const std::string& name, const std::string& image) {
  const std::string source = folder.write("source.json", coco(image));
  const CrowdData data = read_crowd({source});
  Targets targets;
  targets.num_classes = 1;
  targets.begin = {0, 1};
  targets.box = {{0, 0, 5, 5}};
  targets.class_probs = {1};
  targets.weight = targets.score = {1};
  folder.write(name, "");
  write_consensus(targets, data, folder / name, {});
  return folder / name;
}

TEST(UnreadFiles, AConsensusOfBdcIsNoAnnotator) {
  const TemporaryFolder folder;
  const std::string ann = folder.write("set/ann.json", coco("a.jpg")),
                    bob = folder.write("set/bob.json", coco("a.jpg")),
                    own = consensus(folder, "set/result.json", "a.jpg");
  const Read found = read({folder / "set"});
  EXPECT_EQ(annotators_of(found.data), (Names{"ann", "bob"}));
  EXPECT_TRUE(found.notes_have("result.json: is a consensus that bdc wrote and no annotator's labels"))
      << found.all_notes();
  const std::string error = error_of([&] { (void)read({ann, bob, own}); });
  EXPECT_NE(error.find("result.json: expected an annotator's labels, found a consensus that bdc wrote"),
            std::string::npos)
      << error;
  EXPECT_EQ(read({own}).data.annotations.size(), 1U) << "alone it may be read";
  ReadOptions truth;
  truth.role = BoxRole::truth;
  EXPECT_EQ(read({own}, truth).data.truth.size(), 1U);
  folder.write("voc/ann/a.xml", kVoc);
  consensus(folder, "voc/result.json", "a.jpg");
  const Read beside = read({folder / "voc"});
  EXPECT_EQ(annotators_of(beside.data), Names{"ann"});
  EXPECT_TRUE(beside.notes_have("result.json: is not read (a consensus that bdc wrote")) << beside.all_notes();
}

TEST(UnreadFiles, AnnotatorsCalledLikeTheTruthAreTold) {
  const TemporaryFolder folder;
  for (const char* name : {"ann", "bob", "gt", "Ground Truth"}) {
    folder.write("set/" + std::string(name) + ".json", coco("a.jpg"));
  }
  const Read found = read({folder / "set"});
  EXPECT_EQ(found.data.annotators.size(), 4U);
  EXPECT_TRUE(found.notes_have("\"Ground Truth\", \"gt\" are taken for annotators; if these are true boxes"))
      << found.all_notes();
}

TEST(UnreadFiles, SplitsBesideOtherFilesAreNoAnnotators) {
  const TemporaryFolder folder;
  const auto write = [&](const std::string& set, const Names& names) {
    for (const std::string& name : names) folder.write(set + "/" + name + ".json", coco(name + ".jpg"));
  };
  write("all", {"train", "val", "all"});
  write("named", {"street_train", "street_test", "street_labels"});
  write("labels", {"raccoon_labels", "test_labels", "train_labels"});
  for (const char* set : {"all", "named", "labels"}) {
    const std::string error = refused(folder / set);
    EXPECT_NE(error.find("seem to be splits of one data set"), std::string::npos) << error;
    ReadOptions by_file;
    by_file.annotator_from = AnnotatorFrom::file;
    EXPECT_EQ(read({folder / set}, by_file).data.annotators.size(), 3U) << set;
  }
  ReadOptions train;
  train.split = "train";
  const Read found = read({folder / "labels"}, train);
  EXPECT_EQ(found.data.images.size(), 1U);
  EXPECT_TRUE(found.notes_have("raccoon_labels.json: is no split and is left out")) << found.all_notes();
  for (const char* other : {"dev", "eval"}) {
    write(other, {other, "train"});
    EXPECT_EQ(annotators_of(read({folder / other}).data), Names{other}) << "the folder";
    EXPECT_EQ(label_splits(folder / other), (Names{"train", "val"}));
  }
  write("one", {"ann", "test"});
  EXPECT_EQ(annotators_of(read({folder / "one"}).data), (Names{"ann", "test"})) << "one name alone is no division";
}

}  // namespace
}  // namespace bdc::test
