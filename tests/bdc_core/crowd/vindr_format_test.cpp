#include "bdc_core/crowd/io_support.h"

namespace bdc::test {
namespace {

TEST(VindrFormat, ReadsTheHandWrittenFile) {
  const CrowdData data = read_crowd({data_path("vindr/train.csv")});
  ASSERT_EQ(data.images.size(), 4U) << "the sizes file lists one image that nobody saw";
  EXPECT_EQ(data.images[0].id.text, "50a418190bc3fb1ef1633bf9678929b3");
  EXPECT_EQ(data.images[0].width, 2332) << "dim1 is the width";
  EXPECT_EQ(data.images[0].height, 2580);
  ASSERT_EQ(data.classes.size(), 2U) << "\"No finding\" is not a class";
  EXPECT_EQ(data.classes[0].name, "Cardiomegaly");
  EXPECT_EQ(data.classes[0].id.text, "3");
  EXPECT_EQ(data.classes[1].name, "Nodule/Mass");
  EXPECT_EQ(data.annotators.size(), 5U);
  ASSERT_EQ(data.annotations.size(), 2U);
  EXPECT_EQ(data.annotations[1].box, (Box{1789.5, 1729, 1875, 1992}));
  EXPECT_TRUE(data.assignments_known);
  EXPECT_EQ(data.assignments.size(), 5U);
}

TEST(VindrFormat, ColumnsMayStandInAnyOrderAndClassIdsMayLack) {
  const CrowdData data =
      parse("rad_id,x_min,y_min,x_max,y_max,class_name,image_id\nR1,1,2,3,4,\"a, \"\"b\"\"\",i\n", "vindr");
  ASSERT_EQ(data.classes.size(), 1U);
  EXPECT_EQ(data.classes[0].name, "a, \"b\"");
  EXPECT_EQ(data.classes[0].id.text, "1");
  EXPECT_EQ(data.annotations.at(0).box, (Box{1, 2, 3, 4}));
}

TEST(VindrFormat, BrokenFilesSayWhereAndWhat) {
  const std::string good = data_text("vindr/train.csv");
  const std::vector<BrokenFile> cases = {
      {"", "t.csv:1: expected a heading with image_id, class_name, rad_id"},
      {with(good, "rad_id", "reader"), "t.csv:1: expected the column \"rad_id\" in the heading, found none"},
      {with(good, "1653.0,", ""), "t.csv:4: expected 8 fields as in the heading, found 7"},
      {with(good, "691.0", "left"), "t.csv:4: expected a number as x_min, found \"left\""},
      {with(good, "691.0", ""), "t.csv:4: expected a number as x_min, found \"\""},
      {with(good, "691.0", "2691.0"), "t.csv:4: expected a box with x1 < x2"},
      {with(good, "691.0", "1653"), "t.csv:4: expected a box with width and height above 0"},
      {with(good, "691.0", "inf"), "t.csv:4: expected a box of finite numbers"},
      {with(good, "R11,,,,", "R11,1,2,3,4"), "t.csv:2: expected no box in a \"No finding\" row, found \"1\""},
      {with(good, ",R10,", ",,"), "t.csv:4: expected rad_id, found nothing"},
      {with(good, "\n21a10246a5ec7af151081d0cd6d65dc9", "\n"), "t.csv:3: expected image_id, found nothing"},
      {with(good, "Cardiomegaly,3", "Cardiomegaly,8"),
       "t.csv:5: class 8 is named \"Nodule/Mass\" here and \"Cardiomegaly\" before"},
      {with(good, "Cardiomegaly,3", "Cardiomegaly,"), "t.csv:4: expected class_id, found nothing"},
      {with(good, "\"Nodule/Mass\"", "\"Nodule/Mass"),
       "t.csv:5: expected a comma or the end of the row after a quoted field"},
      {with(good, "\"R8\"", "\"R8"), "t.csv:6: a field in double quotes does not end"},
      {with(good, "Cardio", "Card\xC0\x80io"), "t.csv:4: a field is not valid UTF-8"},
  };
  expect_refused_by("vindr", cases, "t.csv");
}

TEST(VinDrFormat, ClassesOfFilesWithAndWithoutIdsAreTiedByTheirNames) {
  const TemporaryFolder folder;
  const std::string with_ids = folder.write("with.csv",
                                            "image_id,class_name,class_id,rad_id,x_min,y_min,x_max,y_max\n"
                                            "a,Nodule,8,R1,1,2,30,40\na,Effusion,3,R1,1,2,30,40\n");
  const std::string without = folder.write("without.csv",
                                           "image_id,class_name,rad_id,x_min,y_min,x_max,y_max\n"
                                           "a,Effusion,R2,1,2,30,40\na,Mass,R2,1,2,30,40\n");
  for (const auto& paths : {std::vector<std::string>{with_ids, without}, std::vector<std::string>{without, with_ids}}) {
    std::vector<std::string> notes;
    ReadOptions options;
    options.notes = &notes;
    const CrowdData data = read_crowd(paths, options);
    ASSERT_EQ(data.classes.size(), 3U);
    for (const ClassRecord& record : data.classes) {
      EXPECT_EQ(record.id.text, record.name == "Nodule" ? "8" : record.name == "Effusion" ? "3" : "9") << record.name;
      EXPECT_TRUE(record.id.is_integer);
    }
    ASSERT_EQ(notes.size(), 1U);
    EXPECT_NE(notes[0].find("tied by"), std::string::npos) << notes[0];
  }
}

}  // namespace
}  // namespace bdc::test
