#include "bdc_core/crowd/io_support.h"

namespace bdc::test {
namespace {

const char* const kExample = "crowd/crowd.json";

TEST(CrowdJson, ARegionOfManyObjectsIsNoBoxAndIsCounted) {
  const std::string text = R"({"images": [{"id": 1, "file_name": "a.jpg", "width": 90, "height": 80}],
    "categories": [{"id": 1, "name": "car"}], "annotations": [
    {"image_id": 1, "category_id": 1, "bbox": [0, 0, 5, 5], "iscrowd": 0},
    {"image_id": 1, "category_id": 1, "bbox": [0, 0, 80, 70], "iscrowd": 1}]})";
  std::vector<std::string> notes;
  ReadOptions options;
  options.notes = &notes;
  EXPECT_EQ(parse(text, "coco", "in", options).annotations.size(), 1U);
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_EQ(notes[0].rfind("1 shape that is not a box is left out", 0), 0U) << notes[0];
}

TEST(CrowdJson, ReadsTheHandWrittenFile) {
  const CrowdData data = read_crowd({data_path("crowd/crowd.json")});
  ASSERT_EQ(data.images.size(), 3U);
  expect_same_id(data.images[0].id, {"7", true});
  expect_same_id(data.images[1].id, {"b-2", false});
  EXPECT_EQ(data.images[0].file, "street/a.jpg");
  EXPECT_EQ(data.images[0].width, 640);
  EXPECT_EQ(data.images[0].height, 480);
  EXPECT_EQ(data.images[2].width, 0);
  ASSERT_EQ(data.classes.size(), 2U);
  EXPECT_EQ(data.classes[1].name, "person");
  ASSERT_EQ(data.annotators.size(), 3U);
  EXPECT_EQ(data.annotators[0].name, "Alice \xC3\x84");
  ASSERT_EQ(data.annotations.size(), 3U);  // sorted by image, file order inside
  EXPECT_EQ(data.annotations[0].image, 0);
  EXPECT_EQ(data.annotations[0].annotator, 0);
  EXPECT_EQ(data.annotations[0].label, 0);
  EXPECT_EQ(data.annotations[1].annotator, 1);
  EXPECT_EQ(data.annotations[1].box, (Box{-2, 470, 28.5, 490}));
  EXPECT_EQ(data.annotations[2].box, (Box{0.1, 0.2, 0.1 + 0.2, 0.2 + 12.7}));
  EXPECT_TRUE(data.assignments_known);
  EXPECT_EQ(data.assignments.size(), 4U);
  EXPECT_EQ(data.annotation_begin, (std::vector<std::size_t>{0, 2, 3, 3}));
  EXPECT_FALSE(data.has_truth);
}

TEST(CrowdJson, WritingReadsBackTheSame) {
  const TemporaryFolder folder;
  const CrowdData data = read_crowd({data_path("crowd/crowd.json")});
  EXPECT_TRUE(write_crowd(data, folder / "out.json").losses.empty());
  const std::string once = read_file(folder / "out.json");
  EXPECT_NE(once.find("[0.1,0.2,0.2,12.7]"), std::string::npos) << "widths keep their short decimals";
  static_cast<void>(write_crowd(read_crowd({folder / "out.json"}), folder / "again.json"));
  EXPECT_EQ(read_file(folder / "again.json"), once);
}

TEST(CrowdJson, SectionsMayComeInAnyOrder) {
  const std::string text =
      R"({"annotations": [{"image_id": 2, "category_id": 1, "bbox": [0, 0, 1, 1], "annotator_id": 9}],
    "images": [{"id": 1}, {"id": 2}], "categories": [{"id": 0, "name": "a"}, {"id": 1, "name": "b"}]})";
  const CrowdData data = parse(text, "crowd");
  EXPECT_EQ(data.annotations.at(0).image, 1);
  EXPECT_EQ(data.annotations.at(0).label, 1);
  EXPECT_EQ(data.annotators.size(), 1U);
  EXPECT_FALSE(data.assignments_known);
  EXPECT_EQ(data.assignments.size(), 1U);
}

TEST(CrowdJson, AByteOrderMarkIsAccepted) {
  EXPECT_EQ(parse("\xEF\xBB\xBF" + data_text(kExample), "crowd").images.size(), 3U);
}

TEST(CrowdJson, BrokenFilesSayWhereAndWhat) {
  const std::string good = data_text(kExample);
  const std::vector<BrokenFile> cases = {
      {good.substr(0, 700), "in:12: annotations[1].iscrowd: the file ends too early"},
      {with(good, "\"annotations\"", "\"boxes\""), "expected the member \"annotations\""},
      {with(good, "\"id\": 9", "\"id\": 7"), "in:6: images[2]: the image id 7 is defined twice"},
      {with(good, "{\"id\": \"bob\"}", "{\"id\": 1}"), "in:9: annotators[1]: the annotator id 1 is defined twice"},
      {with(good, "\"category_id\": 3", "\"category_id\": 93"),
       "in:12: annotations[1]: category_id 93 is not in the list of classes (2 known)"},
      {with(good, "\"image_id\": \"b-2\"", "\"image_id\": \"7\""),
       "in:11: annotations[0]: image_id \"7\" is not in the list of images (3 known); there is 7, but integers and "
       "strings are different ids"},
      {with(good, ", \"annotator_id\": \"bob\"}", "}"), "annotator_id stands here but not on earlier annotations"},
      {with(good, ", \"annotator_id\": 1}", ", \"annotator_id\": 77}"),
       "annotator_id 77 is not in the list of annotators"},
      {with(good, "12.7]", "\"x\"]"), "in:11: annotations[0].bbox[3]: expected a number, found the string \"x\""},
      {with(good, "12.7]", "12.7, 3]"), "annotations[0].bbox[4]: expected a bbox of 4 numbers"},
      {with(good, ", 12.7]", "]"), "annotations[0].bbox: expected a bbox of 4 numbers [x, y, width, height], found 3"},
      {with(good, "12.7]", "NaN]"), "in:11: annotations[0]: expected a box of finite numbers"},
      {with(good, "12.7]", "0]"), "in:11: annotations[0]: expected a box with width and height above 0"},
      {with(good, "12.7]", "-1]"), "in:11: annotations[0]: expected a box with x1 < x2 and y1 < y2"},
      {with(good, "12.7]", "1e999]"), "annotations[0].bbox[3]: the number 1e999 is too large"},
      {with(good, "\"id\": 9", "\"id\": 9.5"), "images[2].id: expected a whole number of at most 64 bits, found 9.5"},
      {with(good, "\"id\": 9", "\"id\": null"), "images[2].id: expected an id: a whole number or a string"},
      {with(good, "\"id\": 9", "\"name\": 9"), "in:6: images[2]: expected the member \"id\", found none"},
      {with(good, "\"width\": 640", "\"width\": -640"), "images[0]: expected an image's width and height above 0"},
      {with(good, "\"width\": 640", "\"width\": 64000000000"), "images[0]: expected an image's width"},
      {with(good, "Alice", "Al\xC3ice"), "in:9: annotators[0].name: a string is not valid UTF-8"},
      {with(good, "\"segmentation\": [[1, 2.5, 3, 4]]", "\"segmentation\": " + std::string(300, '[')),
       "nested deeper than 128 levels"},
      {good + "}", "expected the end of the file"},
      {"[1, 2]", "in:1: expected a COCO object"},
      {with(good, "{\"image_id\": 7, \"annotator_id\": 1}", "{\"image_id\": 7}"),
       "in:17: assignments[0]: expected the member \"annotator_id\", found none"},
      {with(good, "{\"image_id\": 7, \"annotator_id\": 1}", "{\"image_id\": 70, \"annotator_id\": 1}"),
       "in:17: assignments[0]: image_id 70 is not in the list of images"},
      {with(good, "\"info\": {", "\"images\": [], \"info\": {"), "images: expected the member \"images\" once"},
  };
  expect_refused_by("crowd", cases);
}

/// As plain COCO all boxes would be one annotator's: several people's must not be pooled in silence.
TEST(CrowdJson, AnnotatorIdsAreRefusedWherePlainCocoWasAskedFor) {
  const std::string error = parse_error(data_text(kExample), "coco");
  EXPECT_EQ(error.rfind("in:11: annotations[0]: expected plain COCO", 0), 0U) << error;
  EXPECT_NE(error.find("read it as the format \"crowd\", or leave the format out"), std::string::npos) << error;
}

/// The boxes of two people whose annotator stands under the given name.
std::string misnamed(const std::string& key) {
  return R"({"images": [{"id": 1}], "categories": [{"id": 1, "name": "a"}], "annotations": [
    {"id": 1, "image_id": 1, "category_id": 1, "bbox": [0, 0, 5, 5], ")" +
         key + R"(": "ann"},
    {"id": 2, "image_id": 1, "category_id": 1, "bbox": [0, 0, 5, 6], ")" +
         key + R"(": "bob"}]})";
}

TEST(CrowdJson, AnAnnotatorUnderAnotherNameIsReadAndANoteSaysSo) {
  for (const char* key :
       {"annotator", "annotator_name", "annotatorId", "Annotator-ID", "anotator_id", "annotater_id", "worker_id",
        "worker", "user_id", "rater_id", "labeler_name", "annotated_by", "completed_by"}) {
    std::vector<std::string> notes;
    ReadOptions options;
    options.notes = &notes;
    const CrowdData data = parse(misnamed(key), "crowd", "in", options);
    ASSERT_EQ(data.annotators.size(), 2U) << key;
    EXPECT_EQ(data.annotators[1].id.text, "bob");
    ASSERT_EQ(notes.size(), 1U) << key;
    EXPECT_NE(notes[0].find("in: the annotators are those of the member \"" + std::string(key) + "\""),
              std::string::npos)
        << notes[0];
  }
  std::vector<std::string> notes;
  ReadOptions options;
  options.notes = &notes;
  EXPECT_EQ(parse(misnamed("annotator_id"), "crowd", "in", options).annotators.size(), 2U);
  EXPECT_TRUE(notes.empty()) << notes[0];
}

TEST(CrowdJson, OfTwoMembersThatMayNameTheAnnotatorOneMustBeChosen) {
  const std::string text =
      with(misnamed("annotator"), "\"annotator\": \"ann\"", "\"annotator\": \"ann\", \"worker_id\": 7");
  const std::string error = parse_error(text, "crowd");
  EXPECT_EQ(error.rfind("in:2: annotations[0]: the members \"annotator\", \"worker_id\" all seem", 0), 0U) << error;
  EXPECT_NE(error.find("--annotator-key NAME"), std::string::npos) << error;
  ReadOptions options;
  options.annotator_key = "annotator";
  EXPECT_EQ(parse(text, "crowd", "in", options).annotators.size(), 2U);
  options.annotator_key = "worker_id";
  EXPECT_NE(parse_error(text, "crowd", "in", options).find("expected the member \"worker_id\""), std::string::npos);
  options.annotator_key.clear();
  options.annotator_from = AnnotatorFrom::file;
  EXPECT_EQ(parse(text, "crowd", "in", options).annotators.size(), 1U);
  options.annotator_from = AnnotatorFrom::key;
  EXPECT_NE(parse_error(misnamed("note"), "crowd", "in", options).find("name it with --annotator-key"),
            std::string::npos);
}

TEST(CrowdJson, RatersOnImagesAreAssignments) {
  const std::string text = R"({"images": [{"id": 1, "file_name": "a.jpg", "rater_list": ["r1", "r2"]},
    {"id": 2, "file_name": "b.jpg", "rater_list": {"r1": [1], "r2": [1]}}], "categories": [{"id": 1, "name": "a"}],
    "annotations": [{"id": 1, "image_id": 1, "category_id": 1, "bbox": [0, 0, 5, 5], "rater_id": "r1"}]})";
  const CrowdData data = parse(text, "crowd");
  EXPECT_EQ(data.annotators.size(), 2U);
  EXPECT_TRUE(data.assignments_known);
  EXPECT_EQ(data.assignments.size(), 4U) << "r2 saw both images and drew nothing";
  EXPECT_NE(parse_error(with(text, "{\"r1\": [1], ", "{\"r1\": [1, 2], "), "crowd").find("found 2 sessions of \"r1\""),
            std::string::npos);
  EXPECT_NE(parse_error(with(text, ", \"rater_id\": \"r1\"", ""), "crowd").find("do not say which of them drew"),
            std::string::npos);
}

/// As the LVIS doubles have it: an image record for each annotator, of the same file.
TEST(CrowdJson, AnnotatorsOfImagesDrewTheBoxesThere) {
  for (const char* order : {"images first", "annotations first"}) {
    const std::string images = R"("images": [{"id": 1, "file_name": "a.jpg", "annotator": "r1"},
      {"id": 2, "file_name": "a.jpg", "annotator": "r2"}, {"id": 3, "file_name": "b.jpg", "annotator": "r1"}])";
    const std::string annotations =
        R"("annotations": [{"image_id": 1, "category_id": 1, "bbox": [0, 0, 5, 5]},
           {"image_id": 2, "category_id": 1, "bbox": [0, 0, 5, 6]}])";
    const bool first = std::string(order) == "images first";
    const CrowdData data = parse("{" + (first ? images : annotations) + "," + (first ? annotations : images) +
                                     R"(, "categories": [{"id": 1, "name": "a"}]})",
                                 "crowd");
    ASSERT_EQ(data.images.size(), 2U) << order << ": a.jpg is one image";
    ASSERT_EQ(data.annotators.size(), 2U) << order;
    EXPECT_EQ(data.annotation_begin[1], 2U) << order;
    EXPECT_NE(data.annotations[0].annotator, data.annotations[1].annotator) << order;
    EXPECT_TRUE(data.assignments_known);
    EXPECT_EQ(data.assignments.size(), 3U) << order;
  }
}

TEST(CrowdJson, OtherMembersPlainCocoAndTheTruthMayHaveAnyName) {
  for (const char* key : {"annotation", "annotation_id", "annotated", "attributes", "author", "created_by", "name",
                          "note", "occluded", "iscrowd_id", "segment_id", "track_id"}) {
    EXPECT_EQ(parse(misnamed(key), "crowd").annotators.size(), 1U) << key;
  }
  EXPECT_EQ(parse(misnamed("annotator"), "coco").annotators.size(), 1U);
  ReadOptions truth;
  truth.role = BoxRole::truth;
  EXPECT_EQ(parse(misnamed("annotator"), "crowd", "in", truth).truth.size(), 2U);
}

TEST(CrowdJson, LenientReadingCountsAndGoesOn) {
  std::string text = with(data_text(kExample), "12.7]", "NaN]");
  text = with(text, "\"category_id\": 3", "\"category_id\": 93");
  text = with(text, "{\"image_id\": 7, \"annotator_id\": 1}", "{\"image_id\": []}");
  ProblemLog log(ProblemLog::Mode::lenient);
  ReadOptions options;
  options.problems = &log;
  const CrowdData data = parse(text, "crowd", "c.json", options);
  EXPECT_EQ(data.annotations.size(), 1U);
  EXPECT_EQ(log.entry(ProblemKind::not_finite_box).count, 1U);
  EXPECT_EQ(log.entry(ProblemKind::unknown_class).count, 1U);
  EXPECT_EQ(log.entry(ProblemKind::bad_record).count, 1U);
  EXPECT_EQ(log.count(Severity::error), 3U);
  ASSERT_EQ(log.entry(ProblemKind::bad_record).examples.size(), 1U);
  EXPECT_EQ(log.entry(ProblemKind::bad_record).examples[0].rfind("c.json:17: assignments[0].image_id: ", 0), 0U);
}

TEST(CrowdJson, LenientReadingKeepsWhatStoodBeforeATruncation) {
  const std::string good = data_text(kExample);
  ProblemLog log(ProblemLog::Mode::lenient);
  ReadOptions options;
  options.problems = &log;
  const CrowdData data = parse(good.substr(0, good.find("\"id\": 3, \"image_id\"")), "crowd", "c.json", options);
  EXPECT_EQ(data.annotations.size(), 2U);
  EXPECT_EQ(log.entry(ProblemKind::unreadable_file).count, 1U);
}

TEST(CrowdJson, PlainFilesAreOneAnnotatorEachWhoSawAllItsImages) {
  const TemporaryFolder folder;
  const std::string head =
      R"({"images": [{"id": 1, "width": 9, "height": 9}, {"id": 2}], "categories": [{"id": 1, "name": "a"}],)";
  folder.write("alice.json", head + R"("annotations": [{"image_id": 1, "category_id": 1, "bbox": [1, 1, 2, 2]}]})");
  folder.write("bob.json", head + R"("annotations": []})");
  const CrowdData data = read_crowd({folder / "alice.json", folder / "bob.json"});
  ASSERT_EQ(data.annotators.size(), 2U);
  EXPECT_EQ(data.annotators[0].id.text, "alice");
  EXPECT_EQ(data.annotators[1].id.text, "bob");
  EXPECT_EQ(data.images.size(), 2U);
  EXPECT_EQ(data.annotations.size(), 1U);
  EXPECT_EQ(data.assignments.size(), 4U);
  EXPECT_TRUE(data.assignments_known);
}

TEST(CrowdJson, FilesThatContradictEachOtherAreRefused) {
  const TemporaryFolder folder;
  folder.write("a.json", R"({"images": [{"id": 1, "width": 9, "height": 9}], "categories": [], "annotations": []})");
  folder.write("b.json", R"({"images": [{"id": 1, "width": 8, "height": 9}], "categories": [], "annotations": []})");
  const std::string error = error_of([&] { static_cast<void>(read_crowd({folder / "a.json", folder / "b.json"})); });
  EXPECT_NE(error.find("b.json:1: images[0]: image 1 is 8 x 9 here and 9 x 9 before"), std::string::npos) << error;
}

TEST(CrowdJson, TruthAndItsCoverageRoundTrip) {
  const TemporaryFolder folder;
  CrowdData data = read_crowd({data_path("crowd/crowd.json")});
  data.truth.push_back({{1, 2, 3, 4}, 1, 0, true, 3.5});
  data.truth_covers = {0, 1, 1};
  data.finalize();
  EXPECT_TRUE(write_crowd(data, folder / "t.json").losses.empty());
  const CrowdData back = read_crowd({folder / "t.json"});
  ASSERT_EQ(back.truth.size(), 1U);
  EXPECT_TRUE(back.truth[0].is_crowd);
  EXPECT_EQ(back.truth[0].area, 3.5);
  EXPECT_EQ(back.truth_covers, data.truth_covers);
}

TEST(ReadCrowd, NamesTheNearestFormat) {
  EXPECT_NE(parse_error("", "crwd").find("did you mean 'crowd'?"), std::string::npos);
}

TEST(ReadCrowd, AMissingFileIsNamed) {
  const std::string error = error_of([] { static_cast<void>(read_crowd({"/no/such.json"})); });
  EXPECT_EQ(error, "/no/such.json: no such file or folder");
}

}  // namespace
}  // namespace bdc::test
