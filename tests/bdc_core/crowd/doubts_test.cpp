// Labels that can be read and are yet doubtful: shares taken for pixels, nothing but what is no box, a machine's boxes,
// one person under two names. Each is said or refused, whatever the format.
#include "bdc_core/crowd/read_with_notes.h"

namespace bdc::test {
namespace {

/// COCO with two images; `annotations` without the brackets.
std::string coco(const std::string& annotations, const std::string& more_of_images = "") {
  return R"({"images": [{"id": 1, "file_name": "a.png", "width": 200, "height": 100},
 {"id": 2, "file_name": "b.png", "width": 200, "height": 100)" +
         more_of_images +
         R"(}], "categories": [{"id": 1, "name": "cat"}, {"id": 2, "name": "empty"}], "annotations": [)" + annotations +
         "]}";
}

std::string annotation(const std::string& bbox, const std::string& more = "", int image = 1) {
  return R"({"image_id": )" + std::to_string(image) + R"(, "category_id": 1, "bbox": )" + bbox + more + "}";
}

std::string four(const std::string& more) {
  return annotation("[10, 20, 30, 40]", more) + "," + annotation("[50, 20, 30, 41]", more) + "," +
         annotation("[10, 20, 30, 42]", more, 2) + "," + annotation("[70, 20, 30, 43]", more, 2);
}

TEST(Doubts, SharesOfTheImageAreNotReadAsPixels) {
  const std::string shares = annotation("[0.1, 0.2, 0.3, 0.4]") + "," + annotation("[0.5, 0.2, 0.3, 0.4]", "", 2);
  const std::string error = parse_error(coco(shares), "coco", "ann.json");
  EXPECT_NE(error.find("may be shares of the image's size; expected pixels"), std::string::npos) << error;
  ReadOptions truth;
  truth.role = BoxRole::truth;
  EXPECT_NE(parse_error(coco(shares), "coco", "t.json", truth).find("the true boxes lie between 0 and 1"),
            std::string::npos);
  const std::string table = "image,class,x1,y1,x2,y2,annotator\n";
  std::string rows;
  for (int n = 0; n < 20; ++n) rows += "a.png,cat,0.1,0.2,0.3,0.4,ann\n";
  const std::string found = parse_error(table + rows + "a.png,cat,0.5,0.2,1.004,0.9,ann\n", "csv");
  EXPECT_NE(found.find("say which with --columns unit=relative"), std::string::npos) << found;
  EXPECT_NE(parse_error(table + rows + "a.png,cat,10,20,30,40,bob\nb.png,cat,10,20,30,40,bob\n", "csv").find("\"ann\""),
            std::string::npos)
      << "one annotator's shares beside another's pixels";
  ReadOptions pixels;
  pixels.columns = "unit=pixels";
  EXPECT_EQ(parse(table + rows, "csv", "in", pixels).annotations.size(), 20U);
}

TEST(Doubts, AFewSmallBoxesAreNoShares) {
  EXPECT_EQ(parse(coco(annotation("[0.1, 0.2, 0.3, 0.4]") + "," + four("")), "coco").annotations.size(), 5U);
  EXPECT_EQ(parse(coco(annotation("[10.1, 20.2, 0.3, 0.4]")), "coco").annotations.size(), 1U) << "away from the corner";
}

TEST(Doubts, LabelsWithoutABoxAreAnErrorThatCountsWhatIsThere) {
  const std::string images = R"({"categories": {"label": {"labels": [{"name": "cat"}]}}, "items": [
    {"id": "a", "annotations": [{"type": "label", "label_id": 0}]},
    {"id": "b", "annotations": [{"type": "label", "label_id": 0})";
  const std::string error = parse_error(images + "]}]}", "datumaro", "ann.json");
  EXPECT_NE(error.find("expected boxes, found nothing but 2 labels of whole images"), std::string::npos) << error;
  const std::string choices = R"([{"id": 1, "data": {"image": "a.png"}, "annotations": [{"id": 1, "completed_by": 1,
    "result": [{"id": "x", "type": "choices", "to_name": "image", "from_name": "c", "value": {"choices": ["cat"]}}]}]}])";
  const std::string said = parse_error(choices, "label-studio");
  EXPECT_NE(said.find("found nothing but 1 result that is no region (choices)"), std::string::npos) << said;
  const TemporaryFolder folder;
  folder.write("ann.json", images + R"(, {"type": "bbox", "label_id": 0, "bbox": [10, 20, 30, 40]}]}]})");
  const Read read = test::read({folder / "ann.json"});
  EXPECT_EQ(read.data.annotations.size(), 1U);
  EXPECT_TRUE(read.notes_have("2 labels of whole images are left out")) << read.all_notes();
}

TEST(Doubts, AFolderWithoutAnyLabelIsNoEmptyCrowd) {
  const TemporaryFolder folder;
  folder.write("ann/annotations/a.txt", "10,20,30,40,1,2,0,0\n");
  ReadOptions options;
  options.format = "text";
  const std::string error = error_of([&] { (void)read_crowd({folder / "ann"}, options); });
  EXPECT_NE(error.find("expected images, found none"), std::string::npos) << error;
}

TEST(Doubts, AMachinesScoresAreSaid) {
  const TemporaryFolder folder;
  folder.write("ann.json", coco(four(R"(, "score": 0.5)")));
  folder.write("sure.json", coco(four(R"(, "score": 1)")));
  folder.write("t.csv", "image,class,x1,y1,x2,y2,confidence\na.png,cat,10,20,30,40,0.9\nb.png,cat,10,20,30,40,\n");
  Read read = test::read({folder / "ann.json"});
  EXPECT_TRUE(read.notes_have("4 boxes have scores")) << read.all_notes();
  EXPECT_EQ(read.data.annotations.size(), 4U);
  EXPECT_FALSE(test::read({folder / "sure.json"}).notes_have("score")) << "OpenImages says so of people's boxes";
  read = test::read({folder / "t.csv"});
  EXPECT_TRUE(read.notes_have("1 box has a score")) << read.all_notes();
}

TEST(Doubts, OnePersonUnderTwoNamesIsSaid) {
  const TemporaryFolder folder;
  folder.write("all.json", coco(annotation("[10, 20, 30, 40]", R"(, "annotator": "Ann")") + "," +
                                annotation("[11, 20, 30, 40]", R"(, "annotator": "ann ")")));
  const Read read = test::read({folder / "all.json"});
  EXPECT_EQ(read.data.annotators.size(), 2U);
  EXPECT_TRUE(read.notes_have("1 annotator is called like another but for case or blanks")) << read.all_notes();
}

TEST(Doubts, ACopyOfAFileIsSaid) {
  const TemporaryFolder folder;
  folder.write("ann.json", coco(four("")));
  folder.write("ann (1).json", coco(four("")));
  folder.write("bob.json", coco(four("") + "," + annotation("[1, 2, 30, 40]")));
  const Read read = test::read({folder / "ann.json", folder / "ann (1).json", folder / "bob.json"});
  EXPECT_TRUE(read.notes_have("have the same 4 boxes to the last digit")) << read.all_notes();
  EXPECT_FALSE(test::read({folder / "ann.json", folder / "bob.json"}).notes_have("last digit"));
}

TEST(Doubts, NamesThatLookAlikeInUnicodeAreOne) {
  const TemporaryFolder folder;
  const std::string composed = "caf\xC3\xA9", decomposed = "cafe\xCC\x81";
  const auto file = [&](const std::string& name) {
    return R"({"images": [{"id": 1, "file_name": ")" + name + R"(.png", "width": 200, "height": 100}], "categories": [
      {"id": 1, "name": ")" +
           name + R"("}], "annotations": [)" + annotation("[10, 20, 30, 40]") + "]}";
  };
  folder.write("ann.json", file(composed));
  folder.write("bob.json", file(decomposed));
  const Read read = test::read({folder / "ann.json", folder / "bob.json"});
  EXPECT_EQ(read.data.classes.size(), 1U);
  EXPECT_EQ(read.data.images.size(), 1U);
  EXPECT_EQ(read.data.images.at(0).file, composed + ".png") << "as the first file writes it";
  const CrowdData table = parse(
      "image,class,x1,y1,x2,y2\na.png," + composed + ",10,20,30,40\na.png," + decomposed + ",12,20,30,40\n", "csv");
  EXPECT_EQ(table.classes.size(), 1U);
}

}  // namespace
}  // namespace bdc::test
