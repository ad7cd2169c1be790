// Shapes that are not boxes: left out and counted, or the boxes around them; never zero boxes and success.
#include "bdc_core/crowd/io_support.h"

namespace bdc::test {
namespace {

std::string coco(const std::string& shape) {
  return R"({"images": [{"id": 1, "width": 90, "height": 80}], "categories": [{"id": 1, "name": "a"}], "annotations": [
    {"image_id": 1, "category_id": 1, )" +
         shape + "}]}";
}

std::string cvat(const std::string& shape) {
  return "<annotations><image id=\"0\" name=\"a.jpg\" width=\"90\" height=\"80\">" + shape + "</image></annotations>";
}

std::string studio(const std::string& type, const std::string& value) {
  return R"([{"id": 1, "data": {"image": "a.jpg"}, "annotations": [{"completed_by": 1, "result": [{"type": ")" + type +
         R"(", "original_width": 200, "original_height": 100, "value": {)" + value + ", \"" + type +
         R"(": ["car"]}}]}]}])";
}

CrowdData taken(const std::string& text, const std::string& format) {
  ReadOptions options;
  options.shapes_to_boxes = true;
  return parse(text, format, "in", options);
}

struct Shape {
  std::string format, text;
  Box box;
};

/// A 4 x 3 mask (h 3, w 4) whose pixels (column 1, rows 1 and 2) and (column 2, row 0) are inside.
const Shape shapes[] = {
    {"crowd", coco(R"("segmentation": [[10, 10, 20, 12, 15, 30], [5, 11, 6, 11, 6, 12]])"), {5, 10, 20, 30}},
    {"crowd", coco(R"("segmentation": {"size": [3, 4], "counts": [4, 2, 6]})"), {1, 1, 2, 3}},
    {"crowd", coco(R"("segmentation": {"size": [3, 4], "counts": "426"})"), {1, 1, 2, 3}},
    {"cvat", cvat("<polygon label=\"a\" points=\"1.5,2;10,3;4,9\"/>"), {1.5, 2, 10, 9}},
    {"cvat", cvat("<polyline label=\"a\" points=\"1,2;10,3\"/>"), {1, 2, 10, 3}},
    {"cvat", cvat("<ellipse label=\"a\" cx=\"20\" cy=\"30\" rx=\"4\" ry=\"5\"/>"), {16, 25, 24, 35}},
    {"cvat", cvat("<mask label=\"a\" rle=\"1, 2\" left=\"3\" top=\"4\" width=\"5\" height=\"6\"/>"), {3, 4, 8, 10}},
    {"label-studio", studio("polygonlabels", R"("points": [[10, 10], [20, 10], [15, 50]])"), {20, 10, 40, 50}},
    {"label-studio", studio("ellipselabels", R"("x": 50, "y": 50, "radiusX": 10, "radiusY": 20)"), {80, 30, 120, 70}},
};

TEST(Shapes, BecomeTheBoxesAroundThemWhereThatIsAskedFor) {
  for (const Shape& shape : shapes) {
    const CrowdData data = taken(shape.text, shape.format);
    ASSERT_EQ(data.annotations.size(), 1U) << shape.text;
    const Box& box = data.annotations[0].box;
    EXPECT_NEAR(box.x1, shape.box.x1, 1e-9) << shape.text;
    EXPECT_NEAR(box.y1, shape.box.y1, 1e-9) << shape.text;
    EXPECT_NEAR(box.x2, shape.box.x2, 1e-9) << shape.text;
    EXPECT_NEAR(box.y2, shape.box.y2, 1e-9) << shape.text;
  }
}

TEST(Shapes, AFileOfNothingElseIsAnError) {
  for (const Shape& shape : shapes) {
    const std::string error = parse_error(shape.text, shape.format);
    EXPECT_NE(error.find("in: expected boxes, found nothing but 1 shape"), std::string::npos) << error;
    EXPECT_NE(error.find("--shapes-to-boxes"), std::string::npos) << error;
  }
  const std::string error = parse_error(cvat("<points label=\"a\" points=\"1,2\"/>"), "cvat");
  EXPECT_NE(error.find("expected boxes, found nothing but 1 shape"), std::string::npos) << error;
}

TEST(Shapes, BesideBoxesTheyAreCounted) {
  std::vector<std::string> notes;
  ReadOptions options;
  options.notes = &notes;
  const std::string text = cvat(
      "<box label=\"a\" xtl=\"1\" ytl=\"1\" xbr=\"5\" ybr=\"5\"/><polygon label=\"a\" points=\"1,2;10,3;4,9\"/>"
      "<polygon label=\"a\" points=\"1,2;10,3;4,9\"/>");
  EXPECT_EQ(parse(text, "cvat", "in", options).annotations.size(), 1U);
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_EQ(notes[0].rfind("2 shapes that are not boxes are left out", 0), 0U) << notes[0];
}

TEST(Shapes, YoloSegmentsBecomeBoxes) {
  const TemporaryFolder folder;
  ReadOptions options;
  options.shapes_to_boxes = true;
  options.sizes_csv = folder.write("sizes.csv", "im.jpg,100,100\n");
  const CrowdData data = parse("0 0.1 0.2 0.5 0.2 0.5 0.8\n1 0.5 0.5 0.2 0.2\n", "yolo", "ann/im.txt", options);
  ASSERT_EQ(data.annotations.size(), 2U);
  EXPECT_NEAR(data.annotations[0].box.x2, 50, 1e-9);
  EXPECT_NEAR(data.annotations[0].box.y2, 80, 1e-9);
}

TEST(Shapes, BrokenMasksAreLeftOutNotGuessed) {
  for (const char* mask :
       {R"({"size": [3, 4], "counts": [40, 2]})", R"({"size": [3], "counts": [4, 2, 6]})",
        R"({"size": [3, 4], "counts": "o"})", R"({"size": [-3, 4], "counts": [4, 2, 6]})", "[[1, 2, 3]]"}) {
    ReadOptions options;
    options.shapes_to_boxes = true;
    EXPECT_NE(parse_error(coco("\"segmentation\": " + std::string(mask)), "crowd", "in", options)
                  .find("expected boxes, found nothing but 1 shape"),
              std::string::npos)
        << mask;
  }
}

}  // namespace
}  // namespace bdc::test
