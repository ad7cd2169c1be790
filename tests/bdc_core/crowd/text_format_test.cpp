#include "bdc_core/crowd/io_support.h"

namespace bdc::test {
namespace {

TEST(TextFormat, ReadsTheHandWrittenFolder) {
  const CrowdData data = read_crowd({data_path("text")});
  ASSERT_EQ(data.images.size(), 2U);
  EXPECT_EQ(data.images[0].id.text, "street_1");
  EXPECT_EQ(data.images[0].file, "street_1.jpg");
  EXPECT_EQ(data.images[1].width, 320);
  ASSERT_EQ(data.classes.size(), 2U);
  EXPECT_EQ(data.classes[1].name, "dog");
  expect_same_id(data.classes[1].id, {"1", true});
  ASSERT_EQ(data.annotators.size(), 3U);
  expect_same_id(data.annotators[0].id, {"3", true});
  expect_same_id(data.annotators[1].id, {"worker-7", false});
  EXPECT_EQ(data.annotators[2].id.text, "Smith, J.");
  ASSERT_EQ(data.annotations.size(), 3U);
  EXPECT_EQ(data.annotations[0].box, (Box{10, 20, 110.5, 220}));
  EXPECT_EQ(data.annotations[2].label, 1);
  EXPECT_FALSE(data.assignments_known);
}

TEST(TextFormat, ClassesMayBeNames) {
  const CrowdData data = parse("1,2,3,4,zebra,a\n1,2,3,4,ant,b\n", "text", "dir/im.txt");
  ASSERT_EQ(data.classes.size(), 2U);
  EXPECT_EQ(data.classes[0].name, "zebra");
  EXPECT_EQ(data.images.at(0).id.text, "im");
}

TEST(TextFormat, LeadingZerosOfANumberAreKept) {
  expect_same_id(parse("1,2,3,4,0,007\n", "text", "0012.txt").annotators.at(0).id, {"007", false});
  expect_same_id(parse("1,2,3,4,0,7\n", "text", "0012.txt").images.at(0).id, {"0012", false});
}

/// As BDC's authors keep them: the crowd's boxes have an annotator, those to test on have none.
TEST(TextFormat, FiveColumnsAreTheTruth) {
  const CrowdData data = parse("1,2,3,4,0\n5,6,7,8,1\n", "text", "im.txt");
  EXPECT_TRUE(data.annotations.empty());
  EXPECT_TRUE(data.annotators.empty());
  ASSERT_EQ(data.truth.size(), 2U);
  EXPECT_EQ(data.truth[1].box, (Box{5, 6, 7, 8}));
}

TEST(TextFormat, BrokenFilesSayWhereAndWhat) {
  ReadOptions options;
  options.class_names = data_path("text/classes.txt");
  const std::vector<BrokenFile> cases = {
      {"1,2,3,4\n", "im.txt:1: expected 6 values x1,y1,x2,y2,class,annotator, found 4"},
      {"1,2,3,4,0,a\n1,2,3,4,0\n", "im.txt:2: expected 6 values x1,y1,x2,y2,class,annotator, found 5"},
      {"1,2,3,4,0\n1,2,3,4,0,a\n", "im.txt:2: expected 5 values x1,y1,x2,y2,class of a true box, as before, found 6"},
      {"1,2,3,4,0,a,b\n", "im.txt:1: expected 6 values x1,y1,x2,y2,class,annotator, found 7"},
      {"1 2 3 4 0 a\n", "im.txt:1: expected 6 values x1,y1,x2,y2,class,annotator, found 1"},
      {"1,2,3,4,0,a\n1,x,3,4,0,a\n", "im.txt:2: expected a number as value 2, found \"x\""},
      {"\n\n1,2,3,4,0,\n", "im.txt:3: expected an annotator, found nothing"},
      {"1,2,3,4, ,a\n", "im.txt:1: expected a class, found nothing"},
      {"1,2,3,4,2,a\n", "im.txt:1: class 2 is not in the list of classes (2 known)"},
      {"1,2,3,4,dg,a\n", "class \"dg\" is not in the list of classes (2 known); nearest name \"dog\""},
      {"1,2,nan,4,0,a\n", "im.txt:1: expected a box of finite numbers, found (1, 2) to (nan, 4)"},
      {"1,2,1,4,0,a\n", "im.txt:1: expected a box with width and height above 0, found the empty box (1, 2) to (1, 4)"},
      {"3,2,1,4,0,a\n", "im.txt:1: expected a box with x1 < x2 and y1 < y2, found the inverted box"},
      {"1,2,3,4,0,\"a\n", "im.txt:1: a field in double quotes does not end"},
      {"1,2,3,4,0,\"a\"b\n", "im.txt:1: expected a comma or the end of the row after a quoted field"},
      {"1,2,3,4,0,\xFFz\n", "im.txt:1: a field is not valid UTF-8"},
      {"1e999,2,3,4,0,a\n", "im.txt:1: expected a number as value 1, found \"1e999\""},
  };
  expect_refused_by("text", cases, "im.txt", options);
}

TEST(SizesCsv, BrokenFilesSayWhereAndWhat) {
  const TemporaryFolder folder;
  const std::vector<BrokenFile> cases = {
      {"name,breadth\na,1\n", "sizes.csv:1: expected the columns image, width and height"},
      {"image,width,height\na.jpg,10\n", "sizes.csv:2: expected at least 3 fields, found 2"},
      {"image,width,height\na.jpg,ten,10\n", "sizes.csv:2: expected a width in whole pixels, found \"ten\""},
      {"image,width,height\na.jpg,10,-3\n", "sizes.csv:2: expected a height in whole pixels, found \"-3\""},
      {"image,width,height\na.jpg,10.5,3\n", "sizes.csv:2: expected a width in whole pixels, found \"10.5\""},
      {"image,width,height\na.jpg,10,0\n", "sizes.csv:2: expected both width and height or neither"},
      {"image,width,height\n,10,10\n", "sizes.csv:2: expected the name of an image, found nothing"},
      {"a.jpg,1,1\nb.jpg,2,2\na.jpg,1,1\n", "sizes.csv:3: image \"a.jpg\" is already on line 1"},
  };
  expect_refused(cases, [&](const std::string& text) {
    ReadOptions options;
    options.sizes_csv = folder.write("sizes.csv", text);
    return parse_error("", "text", "im.txt", options);
  });
}

}  // namespace
}  // namespace bdc::test
