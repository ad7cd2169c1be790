// COCO as other programs write it: Detectron2's bbox_mode, corners in bbox, coco-annotator's deleted records, camera
// traps, members that name people.
#include "bdc_core/crowd/read_with_notes.h"

namespace bdc::test {
namespace {

std::string coco(const std::string& annotations, const std::string& more_of_second_image = "") {
  return R"({"images": [{"id": 1, "file_name": "a.png", "width": 200, "height": 100},
 {"id": 2, "file_name": "b.png", "width": 200, "height": 100)" +
         more_of_second_image +
         R"(}], "categories": [{"id": 1, "name": "cat"}, {"id": 2, "name": "empty"}], "annotations": [)" + annotations +
         "]}";
}

std::string annotation(const std::string& bbox, const std::string& more = "", int image = 1) {
  return R"({"image_id": )" + std::to_string(image) + R"(, "category_id": 1, "bbox": )" + bbox + more + "}";
}

Read read_text(const std::string& text, const ReadOptions& options = {}) {
  const TemporaryFolder folder;
  return read({folder.write("ann.json", text)}, options);
}

TEST(CocoDialects, BboxModeSaysWhatTheNumbersAre) {
  const Read corners = read_text(coco(annotation("[10, 20, 50, 60]", R"(, "bbox_mode": 0)")));
  EXPECT_EQ(corners.data.annotations.at(0).box, (Box{10, 20, 50, 60}));
  EXPECT_TRUE(corners.notes_have("as bbox_mode says")) << corners.all_notes();
  const Read extents = read_text(coco(annotation("[10, 20, 50, 60]", R"(, "bbox_mode": 1)")));
  EXPECT_EQ(extents.data.annotations.at(0).box, (Box{10, 20, 60, 80}));
  const std::string error = parse_error(coco(annotation("[10, 20, 50, 60]", R"(, "bbox_mode": 4)")), "coco");
  EXPECT_NE(error.find("expected the bbox_mode 0"), std::string::npos) << error;
}

TEST(CocoDialects, AreasTellThatBboxHoldsCorners) {
  const auto boxes = [](const char* a, const char* b, const char* c) {
    return annotation("[10, 20, 50, 60]", a) + "," + annotation("[30, 10, 80, 40]", b) + "," +
           annotation("[5, 5, 25, 95]", c, 2);
  };
  const std::string error =
      parse_error(coco(boxes(R"(, "area": 1600)", R"(, "area": 1500)", R"(, "area": 1800)")), "coco");
  EXPECT_NE(error.find("the area of 3 of 3 annotations says that bbox holds x1, y1, x2, y2"), std::string::npos)
      << error;
  // A polygon's area says nothing of its box, nor does that of x, y, width, height.
  EXPECT_EQ(parse(coco(boxes(R"(, "area": 1210)", R"(, "area": 2400)", R"(, "area": 700)")), "coco").annotations.size(),
            3U);
  EXPECT_EQ(
      parse(coco(boxes(R"(, "area": 3000)", R"(, "area": 3200)", R"(, "area": 2375)")), "coco").annotations.size(), 3U);
}

TEST(CocoDialects, DeletedRecordsAreLeftOut) {
  const Read found = read_text(coco(annotation("[10, 20, 30, 40]", R"(, "deleted": false)") + "," +
                                        annotation("[10, 20, 30, 41]", R"(, "deleted": true)") + "," +
                                        annotation("[10, 20, 30, 42]", "", 2),
                                    R"(, "deleted": true)"));
  EXPECT_EQ(found.data.annotations.size(), 1U);
  EXPECT_EQ(found.data.images.size(), 1U);
  EXPECT_TRUE(found.notes_have("3 records marked as deleted are left out")) << found.all_notes();
}

TEST(CocoDialects, AnEmptyCategoryWithoutABoxSaysThatNothingIsThere) {
  const std::string nothing = R"(, {"image_id": 2, "category_id": 2})";
  const CrowdData data = parse(coco(annotation("[10, 20, 30, 40]") + nothing), "coco");
  EXPECT_EQ(data.annotations.size(), 1U);
  EXPECT_EQ(data.assignments.size(), 2U);
  const std::string error =
      parse_error(coco(annotation("[10, 20, 30, 40]") + R"(, {"image_id": 2, "category_id": 1})"), "coco");
  EXPECT_NE(error.find("expected the member \"bbox\", found none"), std::string::npos) << error;
}

TEST(CocoDialects, IscrowdMayBeAText) {
  EXPECT_EQ(parse(coco(annotation("[10, 20, 30, 40]", R"(, "iscrowd": "false")")), "coco").annotations.size(), 1U);
  EXPECT_NE(
      parse_error(coco(annotation("[10, 20, 30, 40]", R"(, "iscrowd": "maybe")")), "coco").find("expected 0 or 1"),
      std::string::npos);
}

TEST(CocoDialects, PeopleNamedInsideOfMembersAreToldAndRead) {
  const std::string text = coco(annotation("[10, 20, 30, 40]", R"(, "extra": {"annotator": "ann"})") + "," +
                                annotation("[11, 20, 30, 40]", R"(, "extra": {"annotator": "bob"})"));
  const Read found = read_text(text);
  EXPECT_TRUE(found.notes_have("add --annotator-key extra.annotator")) << found.all_notes();
  ReadOptions options;
  options.annotator_key = "extra.annotator";
  EXPECT_EQ(annotators_of(read_text(text, options).data), (Names{"ann", "bob"}));
  const Read list = read_text(coco(annotation("[10, 20, 30, 40]", R"(, "annotators": ["ann", "bob"])")));
  EXPECT_TRUE(list.notes_have("\"annotators\" of the annotations may list who drew")) << list.all_notes();
}

}  // namespace
}  // namespace bdc::test
