#include "bdc_core/crowd/read_with_notes.h"

namespace bdc::test {
namespace {

TEST(YoloFormat, ReadsTheHandWrittenFolder) {
  const CrowdData data = read_crowd({data_path("yolo")});
  ASSERT_EQ(data.images.size(), 2U);
  EXPECT_EQ(data.images[0].file, "img_a.jpg");
  ASSERT_EQ(data.classes.size(), 3U);
  EXPECT_EQ(data.classes[1].name, "traffic light");
  EXPECT_EQ(data.classes[2].name, "stop #sign");
  ASSERT_EQ(data.annotators.size(), 2U);
  EXPECT_EQ(data.annotators[0].id.text, "alice");
  ASSERT_EQ(data.annotations.size(), 3U);
  EXPECT_EQ(data.annotations[0].box, (Box{75, 25, 125, 75}));
  EXPECT_EQ(data.annotations[2].box, (Box{0, 0, 50, 80}));
  EXPECT_EQ(data.annotations[2].annotator, 1);
  EXPECT_TRUE(data.assignments_known);
  ASSERT_EQ(data.assignments.size(), 3U) << "alice's empty file is an assignment; bob has none for img_a";
}

TEST(YoloFormat, SizesMayComeFromTheImagesThemselves) {
  const TemporaryFolder folder;
  folder.write("ann/img_p.txt", "0 0.5 0.5 1 1\n");
  folder.write("ann/img_j.txt", "0 0.5 0.5 1 1\n");
  ReadOptions options;
  options.image_folder = data_path("yolo_images");
  const CrowdData data = read_crowd({folder.path()}, options);
  ASSERT_EQ(data.images.size(), 2U);
  EXPECT_EQ(data.images[0].file, "img_j.jpg");
  EXPECT_EQ(data.images[0].width, 44);
  EXPECT_EQ(data.images[0].height, 33);
  EXPECT_EQ(data.images[1].width, 12);
  EXPECT_EQ(data.images[1].height, 7);
}

TEST(YoloFormat, AFolderOfLabelsIsOneAnnotator) {
  const TemporaryFolder folder;
  folder.write("data/labels/a.txt", "0 0.5 0.5 1 1\n");
  folder.write("data/sizes.csv", "a.png,10,20\n");
  const CrowdData data = read_crowd({folder / "data"});
  ASSERT_EQ(data.annotators.size(), 1U);
  EXPECT_EQ(data.annotators[0].id.text, "data");
  EXPECT_EQ(data.annotations.at(0).box, (Box{0, 0, 10, 20}));
}

TEST(YoloFormat, ADataYamlMayHaveBackslashesAndSayValidation) {
  const TemporaryFolder folder;
  for (const char* split : {"train", "valid"}) {
    folder.write("set/" + std::string(split) + "/images/" + split + ".jpg", data_text("yolo_images/img_j.jpg"));
    folder.write("set/" + std::string(split) + "/labels/" + split + ".txt", "0 0.5 0.5 1 1\n");
  }
  const std::string yaml = folder.write("set/data.yaml", "train: train\\images\nvalidation: list.txt\nnames: [car]\n");
  folder.write("set/list.txt", "valid\\images\\valid.jpg\n");
  const CrowdData data = read_crowd({yaml});
  EXPECT_EQ(data.images.size(), 2U);
  EXPECT_EQ(data.annotations.size(), 2U);
  EXPECT_EQ(label_splits(yaml), (std::vector<std::string>{"train", "val"}));
}

TEST(YoloFormat, ANameTooLongForAFileIsNamed) {
  const TemporaryFolder folder;
  CrowdData data;
  data.images = {{{"1", true}, std::string(300, 'x') + ".jpg", 90, 80}};
  data.classes = {{{"0", true}, "car"}};
  data.annotators = {{{"ann", false}, ""}};
  data.assignments = {{0, 0}};
  data.assignments_known = true;
  data.finalize();
  for (const char* format : {"yolo", "voc", "text"}) {
    const std::string error = error_of([&] { (void)write_crowd(data, folder / "out", format); });
    EXPECT_NE(error.find("is of 304 bytes, and a file's or folder's has at most 255"), std::string::npos) << error;
    EXPECT_FALSE(std::filesystem::exists(folder / "out"));
  }
}

TEST(YoloFormat, BrokenFilesSayWhereAndWhat) {
  ReadOptions options;
  options.class_names = data_path("yolo/data.yaml");
  options.sizes_csv = data_path("yolo/sizes.csv");
  const std::vector<BrokenFile> cases = {
      {"0 0.5 0.5 0.2\n", "img_a.txt:1: expected 5 values \"class cx cy w h\", found 4"},
      {"0 0.5 0.5 0.2 0.2 0.9\n", "found 6 (a sixth number is a detector's score, not an annotation)"},
      {"\n0 0.1 0.1 0.2 0.1 0.2 0.2\n",
       "alice/img_a.txt: expected boxes, found nothing but 1 shape that is not a box; --shapes-to-boxes takes"},
      {"0 0.1 0.1 0.2 0.1 0.2 0.2 0.3\n",
       "img_a.txt:1: expected 5 values \"class cx cy w h\", found more than 6 (polygons"},
      {"car 0.5 0.5 0.2 0.2\n", "img_a.txt:1: expected a class number from 0, found \"car\""},
      {"-1 0.5 0.5 0.2 0.2\n", "img_a.txt:1: expected a class number from 0, found \"-1\""},
      {"3 0.5 0.5 0.2 0.2\n", "img_a.txt:1: class 3 is not in the list of classes (3 known)"},
      {"0 0.5 half 0.2 0.2\n", "img_a.txt:1: expected a number, found \"half\""},
      {"0 100 50 20 20\n",
       "expected numbers relative to the image's size (about 0 to 1), found a width of 20; are these pixels?"},
      {"0 0.5 0.5 0 0.2\n", "img_a.txt:1: expected a box with width and height above 0"},
      {"0 0.5 0.5 -0.1 0.2\n", "img_a.txt:1: expected a box with x1 < x2"},
      {"0 nan 0.5 0.1 0.2\n", "img_a.txt:1: expected a box of finite numbers"},
      {"0 0.5 0.5 0.1 0.2\n\xFF\n", "alice/img_a.txt: expected text, found bytes that are not UTF-8"},
      {"0,0.5,0.5,0.1,0.2\n", "img_a.txt:1: expected 5 values \"class cx cy w h\", found 1"},
  };
  expect_refused_by("yolo", cases, "alice/img_a.txt", options);
  const std::string unknown = parse_error("0 0.5 0.5 0.1 0.2\n", "yolo", "alice/other.txt", options);
  EXPECT_NE(
      unknown.find("alice/other.txt:1: the size of image \"other\" is unknown; expected its picture beside the labels"),
      std::string::npos)
      << unknown;
}

TEST(ClassNames, BrokenFilesSayWhereAndWhat) {
  const TemporaryFolder folder;
  const std::vector<BrokenFile> cases = {
      {"nc: 3\n", "data.yaml: expected the key \"names\""},
      {"names: person\n", "data.yaml:1: expected a list or a map after \"names:\", found \"person\""},
      {"names: [a, b\n", "data.yaml:2: broken YAML: end of sequence flow not found"},
      {"names:\n  0: a\n  0: b\n", "data.yaml:3: class 0 is named twice"},
      {"names:\n  0: a\n  2: b\n", "data.yaml: expected class numbers from 0 without gaps, found no class 1"},
      {"names:\n  a\n", "data.yaml:2: expected a list or a map after \"names:\", found \"a\""},
      {"names:\n  a: 0\n", "data.yaml:2: expected \"number: class name\", found \"a\""},
      {"names: ['a', '']\n", "data.yaml:1: expected a class name, found nothing"},
      {"names: [a, null]\n", "data.yaml:1: expected a class name, found nothing (a word such as null needs quotes)"},
      {"names: [a, [b]]\n", "data.yaml:1: expected a class name, found a list"},
      {"names: [a]\nnames: [b]\n", "data.yaml:2: expected the member \"names\" once, found it twice"},
      {"nc: 3\nnames: [a, b]\n", "data.yaml:1: expected nc to be the number of names (2), found \"3\""},
      {"- a\n- b\n", "data.yaml:1: expected \"names: ...\" and other members, found none"},
  };
  expect_refused(cases, [&](const std::string& text) {
    ReadOptions options;
    options.class_names = folder.write("data.yaml", text);
    return parse_error("", "yolo", "im.txt", options);
  });
  ReadOptions options;
  options.class_names = folder.write("classes.txt", "a\n\nb\n");
  EXPECT_NE(parse_error("", "yolo", "im.txt", options).find("classes.txt:2: expected a class name, found a blank line"),
            std::string::npos);
}

TEST(ClassNames, AllThreeYamlFormsMeanTheSame) {
  const TemporaryFolder folder;
  for (const char* text : {"names: ['a', \"b c\", d]\nnc: 3\n", "nc: 3\nnames:\n- a\n- b c\n- d\n",
                           "names:\n  0: a\n  1: b c\n  2: d\nnc: 3\n", "names: [a,\n  'b c',\n  d]\n"}) {
    ReadOptions options;
    options.class_names = folder.write("data.yaml", text);
    const CrowdData data = parse("", "yolo", "im.txt", options);
    ASSERT_EQ(data.classes.size(), 3U) << text;
    EXPECT_EQ(data.classes[1].name, "b c") << text;
    EXPECT_EQ(data.classes[2].name, "d") << text;
  }
}

TEST(ClassNames, AnApostropheInAListSwallowsNothing) {
  const TemporaryFolder folder;
  ReadOptions options;
  options.class_names = folder.write("data.yaml", "names: [person, driver's seat, car, 'it''s', \"a, b\"]\n");
  const CrowdData data = parse("", "yolo", "im.txt", options);
  const std::vector<std::string> expected = {"person", "driver's seat", "car", "it's", "a, b"};
  EXPECT_EQ(class_names(data), expected);
}

TEST(YoloFormat, FilesOfOneNameInTwoFoldersAreTwoImages) {
  const TemporaryFolder folder;
  folder.write("data/labels/day/1.txt", "0 0.5 0.5 1 1\n");
  folder.write("data/labels/night/1.txt", "0 0.5 0.5 0.5 0.5\n");
  folder.write("data/sizes.csv", "day/1.png,10,20\nnight/1.png,30,40\n");
  ReadOptions options;
  options.annotator = "ann";
  const CrowdData data = read_crowd({folder / "data"}, options);
  ASSERT_EQ(data.images.size(), 2U);
  EXPECT_EQ(data.images[0].id.text, "day/1");
  EXPECT_EQ(data.images[1].width, 30);
  ASSERT_EQ(data.annotations.size(), 2U);
}

TEST(YoloFormat, FilesCalledAfterLicensePlatesAreLabels) {
  const TemporaryFolder folder;
  folder.write("sizes.csv", "image,width,height\nlicense_plate_1.jpg,20,10\nnotice-2.jpg,20,10\n");
  folder.write("ann/license_plate_1.txt", "0 .5 .5 .2 .2\n");
  folder.write("ann/notice-2.txt", "0 .5 .5 .2 .2\n");
  folder.write("ann/LICENSE.txt", "0 BSD\n");
  EXPECT_EQ(read_crowd({folder.path().string()}).annotations.size(), 2U);
}

TEST(YoloFormat, KeyPointsFollowTheBoxWhereTheYamlSaysSo) {
  const TemporaryFolder folder;
  folder.write("sizes.csv", "image,width,height\na.png,200,100\n");
  const std::string line = "0 0.5 0.5 0.2 0.4 0.45 0.4 2 0.55 0.6 2\n";  // an odd number of values, as of a polygon
  folder.write("ann/a.txt", line);
  const std::string error = error_of([&] { (void)read_crowd({folder.path().string()}); });
  EXPECT_NE(error.find("whose kpt_shape says how many"), std::string::npos) << error;
  folder.write("ann/data.yaml", "names: [cat]\nkpt_shape: [2, 3]\n");
  for (const bool boxes_around : {false, true}) {
    ReadOptions options;
    options.shapes_to_boxes = boxes_around;
    const Read found = read({folder.path().string()}, options);
    ASSERT_EQ(found.data.annotations.size(), 1U) << found.all_notes();
    const Box box = found.data.annotations[0].box;
    EXPECT_NEAR(box.x1, 80, 1e-9);
    EXPECT_NEAR(box.y1, 30, 1e-9);
    EXPECT_NEAR(box.x2, 120, 1e-9);
    EXPECT_NEAR(box.y2, 70, 1e-9);
    EXPECT_TRUE(found.notes_have("1 box has key points (kpt_shape), which are left out")) << found.all_notes();
  }
  folder.write("ann/data.yaml", "names: [cat]\nkpt_shape: [2, 2]\n");
  folder.write("ann/a.txt", "0 0.5 0.5 0.2 0.4 0.45 0.4 0.55 0.6\n");
  EXPECT_NEAR(read_crowd({folder.path().string()}).annotations.at(0).box.x1, 80, 1e-9);
  folder.write("ann/data.yaml", "names: [cat]\nkpt_shape: many\n");
  EXPECT_NE(error_of([&] { (void)read_crowd({folder.path().string()}); }).find("expected kpt_shape to be"),
            std::string::npos);
}

}  // namespace
}  // namespace bdc::test
