// --data with the layouts of YOLO's descendants: which pictures, splits and annotators are taken, and what is refused.
#include <gtest/gtest.h>

#include <utility>

#include "support/run_program.h"

namespace {

namespace fs = std::filesystem;
using bdc::test::read_file;
using bdc::test::run_host;
using bdc::test::TemporaryFolder;

const char* const kPicture = BDC_TEST_DATA "/bdc_core/data/yolo_images/img_p.png";

struct DataYaml : testing::Test {
  /// A picture and its labels, where YOLO expects them.
  void add(const std::string& images, const std::string& name) const {
    folder.write(images + "/" + name + ".png", read_file(kPicture));
    std::string labels = images;
    labels.replace(labels.rfind("images"), 6, "labels");
    folder.write(labels + "/" + name + ".txt", "0 0.5 0.5 0.5 0.5\n");
  }
  [[nodiscard]] bdc::test::Outcome dry_run(const std::vector<std::string>& data) const {
    std::vector<std::string> words = {"train", "--plugin", "minimal", "--dry-run"};
    for (const std::string& path : data) words.insert(words.end(), {"--data", path});
    return run_host(words, folder.path());
  }
  [[nodiscard]] static bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  }
  TemporaryFolder folder;
};

TEST_F(DataYaml, RoboflowsFoldersAreSplitsAndItsLeadingDotsAreDropped) {
  add("set/train/images", "a");
  add("set/train/images", "b");
  add("set/valid/images", "c");
  add("set/test/images", "d");
  folder.write("set/README.roboflow.txt", "hello\n");
  folder.write("set/data.yaml",
               "train: ../train/images\nval: ../valid/images\ntest: ../test/images\n\nnc: 1\nnames: ['car']\n");
  for (const char* data : {"set/data.yaml", "set"}) {
    const auto outcome = dry_run({data});
    EXPECT_TRUE(has(outcome.out, "train: the split train, 2 images, 2 boxes, 1 class; 1 annotator: set (2 images)"))
        << outcome.out << outcome.err;
    EXPECT_TRUE(has(outcome.out, "val: the split val, 1 image, 1 box")) << outcome.out << outcome.err;
  }
  EXPECT_TRUE(has(dry_run({"set/data.yaml"}).out, "\"../train/images\" is taken to be set/train/images"));
}

TEST_F(DataYaml, SplitsBelowAnnotatorsAndDataSetsAreTrainedOnAndEvaluatedOn) {
  for (const char* split : {"train", "valid", "test"}) {
    const std::string name = std::string("p") + split;
    for (const char* above : {"l2/ann/", "l2/bob/", "par/proj/"}) add(above + std::string(split) + "/images", name);
    add(std::string("u/coco8/images/") + split, name);
    folder.write("rc/" + std::string(split) + "/" + name + ".png", read_file(kPicture));
    folder.write("rc/" + std::string(split) + "/_annotations.coco.json",
                 R"({"images": [{"id": 1, "file_name": ")" + name +
                     R"(.png", "width": 12, "height": 7}], "categories": [{"id": 1, "name": "car"}],
                     "annotations": [{"id": 1, "image_id": 1, "category_id": 1, "bbox": [1, 1, 3, 3]}]})");
  }
  for (const auto& [data, who] :
       {std::pair{"l2", "2 annotators: ann (1 image), bob (1 image)"}, std::pair{"par", "1 annotator: proj (1 image)"},
        std::pair{"u", "1 annotator: coco8 (1 image)"}, std::pair{"rc", "1 annotator: rc (1 image)"}}) {
    const auto outcome = dry_run({data});
    const std::string boxes = std::string(data) == "l2" ? "2 boxes" : "1 box";
    EXPECT_TRUE(has(outcome.out, "train: the split train, 1 image, " + boxes + ", 1 class; " + who))
        << data << outcome.out << outcome.err;
    EXPECT_TRUE(has(outcome.out, "val: the split val, 1 image, " + boxes)) << data << outcome.out << outcome.err;
  }
}

TEST_F(DataYaml, ImagesOfBothTrainAndValAreTold) {
  add("set/images", "a");
  const auto outcome = run_host(
      {"train", "--plugin", "minimal", "--dry-run", "--data", "set", "--set", "data.val_labels=set"}, folder.path());
  EXPECT_TRUE(has(outcome.out, "1 image of what is evaluated has the name of one that is trained on"))
      << outcome.out << outcome.err;
  add("set/images", "b");
  const auto two = run_host(
      {"train", "--plugin", "minimal", "--dry-run", "--data", "set", "--set", "data.val_labels=set"}, folder.path());
  EXPECT_TRUE(has(two.out, "2 images of what is evaluated have the names of images that are trained on"))
      << two.out << two.err;
}

TEST_F(DataYaml, UltralyticsPathListFilesAndNamesByNumber) {
  add("coco8/images/train", "a");
  add("coco8/images/val", "b");
  folder.write("coco8/val.txt", "./images/val/b.png\n");
  folder.write("yaml/coco8.yaml",
               "path: ../coco8\ntrain: [images/train]\nval: val.txt\ntest:\nnames:\n  0: car\n  1: driver's seat\n");
  const auto outcome = dry_run({"yaml/coco8.yaml"});
  EXPECT_TRUE(has(outcome.out, "train: the split train, 1 image, 1 box, 2 classes")) << outcome.out << outcome.err;
  EXPECT_TRUE(has(outcome.out, "val: the split val, 1 image, 1 box")) << outcome.out << outcome.err;
}

TEST_F(DataYaml, ValMayNameThePicturesOfTrain) {
  add("set/train/images", "a");
  folder.write("set/data.yaml", "train: train/images\nval: train/images\nnames: [car]\n");
  const auto outcome = run_host({"validate", "set/data.yaml"}, folder.path());
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_TRUE(
      has(outcome.out + outcome.err, "1 picture of val named before, in this split or an earlier one: read once"))
      << outcome.out << outcome.err;
}

TEST_F(DataYaml, SeveralAreSeveralAnnotators) {
  for (const char* who : {"ann", "bob"}) {
    add(std::string(who) + "/images/train", "a");
    folder.write(std::string(who) + "/data.yaml", "train: images/train\nnames: [car]\n");
  }
  const auto outcome = dry_run({"ann/data.yaml", "bob/data.yaml"});
  EXPECT_TRUE(has(outcome.out, "2 annotators: ann (1 image), bob (1 image)")) << outcome.out << outcome.err;
}

TEST_F(DataYaml, APictureWithoutALabelFileWasSeenAndIsCounted) {
  add("images", "a");
  folder.write("images/b.png", read_file(kPicture));
  folder.write("data.yaml", "train: images\nnames: [car]\n");
  const auto outcome = dry_run({"data.yaml"});
  EXPECT_TRUE(has(outcome.out, "2 images, 1 box")) << outcome.out << outcome.err;
  EXPECT_TRUE(has(outcome.out, "1 of 2 pictures of train have no label file")) << outcome.out;
}

TEST_F(DataYaml, EveryVerbForLabelsReadsIt) {
  add("images", "a");
  folder.write("data.yaml", "train: images\nnames: [car]\n");
  const auto outcome = run_host({"validate", "data.yaml"}, folder.path());
  EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
  EXPECT_TRUE(has(outcome.out, "format yolo")) << outcome.out;
}

TEST_F(DataYaml, BrokenOnesSayWhatIsWrongAndWhere) {
  add("images", "a");
  folder.write("bare/x.png", read_file(kPicture));
  folder.write("list.txt", "images/none.png\n");
  folder.write("notes.txt", "hello\n");
  struct Broken {
    const char *text, *message;
  };
  const Broken cases[] = {
      {"train: [images\nnames: [car]\n", "data.yaml:"},
      {"\ttrain: images\n", "data.yaml:1: broken YAML"},
      {"train: images\n", "data.yaml: expected the key \"names\""},
      {"names: [car]\n", "expected \"train\", \"val\" or \"test\""},
      {"train: imgs\nnames: [car]\n", "data.yaml:1: train: \"imgs\" is neither a folder nor a file; tried"},
      {"train: {a: b}\nnames: [car]\n",
       "data.yaml:1: expected a folder, a list file or a list of them after \"train:\""},
      {"train: bare\nnames: [car]\n", "none of the 1 pictures has labels; expected those of"},
      {"train: list.txt\nnames: [car]\n", "list.txt:1: the picture \"images/none.png\" is not there; tried"},
      {"train: notes.txt\nnames: [car]\n", "notes.txt:1: expected the name of a picture, found \"hello\""},
      {"train: images\nnc: 2\nnames: [car]\n", "expected nc to be the number of names (1), found \"2\""},
      {"train: images\nnames: {1: car}\n", "expected class numbers from 0 without gaps"},
      {"train: images\ntrain: images\nnames: [car]\n", "expected the member \"train\" once, found it twice"},
      {"val: images\nnames: [car]\n", "is divided into parts, but has none called train"},
      {"", "expected \"names: ...\" and other members, found none"},
  };
  for (const Broken& broken : cases) {
    folder.write("data.yaml", broken.text);
    const auto outcome = dry_run({"data.yaml"});
    EXPECT_NE(outcome.exit_code, 0) << broken.text;
    EXPECT_TRUE(has(outcome.err, broken.message)) << broken.text << "\n" << outcome.err;
  }
}

/// The layout of BDC's authors: folders of text labels, called like their pictures.
struct AuthorsYaml : DataYaml {
  AuthorsYaml() {
    folder.write("JPEGImages/000005.png", read_file(kPicture));
    folder.write("JPEGImages/000007.png", read_file(kPicture));
    folder.write("data/crowd/000005.png.txt", "1,1,3,3,0,0\n1,1,4,3,1,2\n");
    folder.write("data/crowd/000007.png.txt", "");
    folder.write("data/clean/000007.png.txt", "1,1,3,3,1\n");
    text =
        "nc: 2\nnames: [car, bus]\nn_annotator: 3\nnc_ann: 2\nimage_dir: JPEGImages\ntrain: data/crowd\n"
        "clean_train: data/none\nval: data/clean\n";
  }
  bdc::test::Outcome with_yaml(const std::string& yaml) {
    folder.write("voc.yaml", yaml);
    return dry_run({"voc.yaml"});
  }
  std::string text;
};

TEST_F(AuthorsYaml, TrainsOnTheCrowdAndEvaluatesOnTheTruth) {
  const auto outcome = with_yaml(text);
  EXPECT_TRUE(has(outcome.out, "JPEGImages (--images names another folder)")) << outcome.out << outcome.err;
  EXPECT_TRUE(has(outcome.out,
                  "train: the split train, 2 images, 2 boxes, 2 classes; 2 annotators: 0 (1 image), 2 (1 "
                  "image)"))
      << outcome.out << outcome.err;
  EXPECT_TRUE(has(outcome.out, "val: the split val, 1 image, 1 box, 2 classes")) << outcome.out << outcome.err;
  const auto checked = run_host({"validate", "voc.yaml"}, folder.path());
  EXPECT_TRUE(has(checked.out, "format text")) << checked.out << checked.err;
}

TEST_F(AuthorsYaml, BrokenOnesSayWhatIsWrong) {
  const auto refuses = [&](const std::string& from, const std::string& to, const std::string& message) {
    std::string broken = text;
    broken.replace(broken.find(from), from.size(), to);
    const auto outcome = with_yaml(broken);
    EXPECT_NE(outcome.exit_code, 0) << broken;
    EXPECT_TRUE(has(outcome.err, message)) << broken << outcome.err;
  };
  refuses("n_annotator: 3", "n_annotator: 1",
          "expected n_annotator to be at least the number of annotators (2), found 1");
  refuses("n_annotator: 3", "n_annotator: many", "expected the number of annotators after \"n_annotator:\"");
  refuses("train: data/crowd", "train: data/gone", "\"data/gone\" is neither a folder nor a file; tried");
  refuses("train: data/crowd", "train: JPEGImages", "expected a folder with text labels, found none in");
  refuses("image_dir: JPEGImages", "image_dir: pictures", "image_dir: \"pictures\" is neither a folder nor a file");
  refuses("nc: 2", "nc: 3", "expected nc to be the number of names (2)");
  refuses("names: [car, bus]", "names: [car]", "expected nc to be the number of names (1)");
}

}  // namespace
