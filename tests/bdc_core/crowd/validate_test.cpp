#include "bdc/crowd/validate.h"

#include <nlohmann/json.hpp>

#include "bdc_core/crowd/io_support.h"

namespace {

using bdc::CrowdData;
using bdc::ProblemKind;
using bdc::test::data_path;
using bdc::test::TemporaryFolder;

/// One of everything that validate looks for.
const char* const faulty = R"({"images": [
{"id": 1, "file_name": "a.jpg", "width": 100, "height": 100},
{"id": 2, "file_name": "b.jpg", "width": 100, "height": 100},
{"id": 3, "file_name": "c.jpg"},
{"id": 1, "file_name": "a.jpg", "width": 100, "height": 100}],
"categories": [{"id": 1, "name": "cat"},
{"id": 2, "name": "dog"}],
"annotators": [{"id": "ann"},
{"id": "one"},
{"id": "idle"}],
"annotations": [
{"image_id": 1, "category_id": 1, "bbox": [10, 10, 20, 20], "annotator_id": "ann"},
{"image_id": 1, "category_id": 1, "bbox": [10, 10, 20, 20], "annotator_id": "ann"},
{"image_id": 1, "category_id": 1, "bbox": [90, 90, 20, 20], "annotator_id": "ann"},
{"image_id": 1, "category_id": 1, "bbox": [190, 90, 20, 20], "annotator_id": "ann"},
{"image_id": 1, "category_id": 1, "bbox": [10, 10, 0, 20], "annotator_id": "ann"},
{"image_id": 1, "category_id": 1, "bbox": [10, 10, -5, 20], "annotator_id": "ann"},
{"image_id": 1, "category_id": 1, "bbox": [NaN, 10, 5, 20], "annotator_id": "ann"},
{"image_id": 1, "category_id": 9, "bbox": [10, 10, 5, 20], "annotator_id": "ann"},
{"image_id": 8, "category_id": 1, "bbox": [10, 10, 5, 20], "annotator_id": "ann"},
{"image_id": 1, "category_id": 1, "bbox": [10, 10, 5, 20], "annotator_id": "who"},
{"image_id": 1, "category_id": 1, "bbox": "none", "annotator_id": "ann"},
{"image_id": 2, "category_id": 1, "bbox": [99.999, -0.001, 0.002, 50], "annotator_id": "one"}],
"assignments": [{"image_id": 2, "annotator_id": "ann"}]})";

bdc::ValidationReport validated(const std::string& text, CrowdData* data = nullptr) {
  const TemporaryFolder folder;
  bdc::ValidationReport report = bdc::validate_crowd({folder.write("c.json", text)}, {}, {}, data);
  return report;
}

TEST(Validate, FindsOneOfEverythingWithItsLine) {
  const bdc::ValidationReport report = validated(faulty);
  const std::pair<ProblemKind, std::string> expected[] = {
      {ProblemKind::duplicate_id, "c.json:5: images[3]: the image id 1 is defined twice"},
      {ProblemKind::duplicate_annotation,
       "c.json:13: annotations[1]: annotator \"ann\" drew the box (10, 10) to (30, 30)"},
      {ProblemKind::box_leaves_image,
       "c.json:14: annotations[2]: the box (90, 90) to (110, 110) leaves image 1 (a.jpg) of 100 x 100"},
      {ProblemKind::box_outside_image,
       "c.json:15: annotations[3]: the box (190, 90) to (210, 110) lies outside image 1"},
      {ProblemKind::empty_box, "c.json:16: annotations[4]: "},
      {ProblemKind::inverted_box, "c.json:17: annotations[5]: "},
      {ProblemKind::not_finite_box, "c.json:18: annotations[6]: "},
      {ProblemKind::unknown_class, "c.json:19: annotations[7]: category_id 9 is not in the list of classes (2 known)"},
      {ProblemKind::unknown_image, "c.json:20: annotations[8]: image_id 8 is not in the list of images (3 known)"},
      {ProblemKind::unknown_annotator, "c.json:21: annotations[9]: annotator_id \"who\" is not in the list"},
      {ProblemKind::bad_record, "c.json:22: annotations[10].bbox: expected an array, found the string \"none\""},
      {ProblemKind::image_without_size, "c.json:4: images[2]: image 3 (c.jpg) has no width and height"},
      {ProblemKind::image_without_annotations,
       "c.json:4: images[2]: image 3 (c.jpg) has no annotations (0 annotators saw it)"},
      {ProblemKind::annotator_without_assignments, "c.json:10: annotators[2]: annotator \"idle\" saw no image"},
      {ProblemKind::annotator_with_one_image, "c.json:9: annotators[1]: annotator \"one\" saw one image"},
      {ProblemKind::class_without_annotations, "c.json:7: categories[1]: class \"dog\" has no annotations"},
  };
  for (const auto& [kind, start] : expected) {
    const auto& entry = report.problems.entry(kind);
    EXPECT_EQ(entry.count, 1U) << bdc::problem_info(kind).code;
    ASSERT_EQ(entry.examples.size(), 1U) << bdc::problem_info(kind).code;
    EXPECT_NE(entry.examples[0].find(start), std::string::npos)
        << "expected " << start << "\nfound " << entry.examples[0];
  }
  EXPECT_EQ(report.errors(), 9U);
  EXPECT_EQ(report.warnings(), 7U);
}

TEST(Validate, ACleanFileHasNoErrors) {
  const bdc::ValidationReport report = bdc::validate_crowd({data_path("voc")});
  EXPECT_EQ(report.errors(), 0U) << report.text();
  EXPECT_EQ(report.format, "voc");
  EXPECT_EQ(report.files, 4U) << "the folder and three files";
}

TEST(Validate, RareClassesAreNamed) {
  std::string text =
      R"({"images": [{"id": 1, "width": 9, "height": 9}], "categories": [{"id": 1, "name": "a"}, {"id": 2, "name": "b"}],
    "annotations": [{"image_id": 1, "category_id": 2, "bbox": [0, 0, 1, 1], "annotator_id": 1})";
  for (int n = 0; n < 100; ++n) {
    text += R"(, {"image_id": 1, "category_id": 1, "bbox": [0, 0, 1, )" + std::to_string(1 + n * 0.01) +
            R"(], "annotator_id": 1})";
  }
  const auto report = validated(text + "]}");
  ASSERT_EQ(report.problems.entry(ProblemKind::class_imbalance).count, 1U);
  EXPECT_NE(report.problems.entry(ProblemKind::class_imbalance)
                .examples[0]
                .find("class \"b\" has 1 annotations, class \"a\" has 100"),
            std::string::npos);
}

TEST(Validate, ImagesOfOneFileAndClassesOfOneNameAreNamedWithTheFirst) {
  CrowdData data;
  const auto report = validated(R"({"images": [
{"id": 1, "file_name": "a.jpg", "width": 9, "height": 9},
{"id": 2, "file_name": "b/a.jpg", "width": 9, "height": 9},
{"id": 3, "file_name": "a.jpg", "width": 9, "height": 9},
{"id": "x", "file_name": "a.jpg", "width": 9, "height": 9}],
"categories": [{"id": 1, "name": "cat"}, {"id": 2, "name": "dog"},
{"id": 7, "name": "cat"}],
"annotations": [{"image_id": 1, "category_id": 1, "bbox": [0, 0, 1, 1], "annotator_id": 1}]})",
                                &data);
  const auto& files = report.problems.entry(ProblemKind::duplicate_image_file);
  ASSERT_EQ(files.count, 2U);
  EXPECT_NE(files.examples[0].find("c.json:4: images[2]: image 3 (a.jpg) has the file of image 1;"), std::string::npos)
      << files.examples[0];
  EXPECT_NE(files.examples[1].find("image \"x\" (a.jpg) has the file of image 1;"), std::string::npos)
      << files.examples[1];
  const auto& names = report.problems.entry(ProblemKind::duplicate_class_name);
  ASSERT_EQ(names.count, 1U);
  EXPECT_NE(names.examples[0].find("c.json:7: categories[2]: class 7 has the name \"cat\" of class 1;"),
            std::string::npos)
      << names.examples[0];
  EXPECT_EQ(report.errors(), 0U) << "they can be aggregated";
  EXPECT_EQ(data.images.size(), 4U);
}

TEST(Validate, ImagesWithoutAFileNameHaveNoFileInCommon) {
  const auto report = validated(
      R"({"images": [{"id": 1, "width": 9, "height": 9}, {"id": 2, "width": 9, "height": 9}], "categories": [],
          "annotations": []})");
  EXPECT_EQ(report.problems.entry(ProblemKind::duplicate_image_file).count, 0U) << report.text();
}

TEST(Validate, ExamplesAreLimitedAndCountsAreNot) {
  std::string text = R"({"images": [], "categories": [], "annotations": [0)";
  for (int n = 0; n < 1000; ++n) text += ", 0";
  const auto report = validated(text + "]}");
  EXPECT_EQ(report.problems.entry(ProblemKind::bad_record).count, 1001U);
  EXPECT_EQ(report.problems.entry(ProblemKind::bad_record).examples.size(), 5U);
  EXPECT_NE(report.text().find("... and 996 more"), std::string::npos) << report.text();
}

TEST(Validate, AFileThatBreaksOffIsAnErrorAndTheRestIsChecked) {
  const std::string text = faulty;
  const auto report = validated(text.substr(0, text.find("\"assignments\"")));
  EXPECT_EQ(report.problems.entry(ProblemKind::unreadable_file).count, 1U);
  EXPECT_EQ(report.problems.entry(ProblemKind::empty_box).count, 1U);
}

TEST(Validate, JsonHoldsTheSameCounts) {
  const auto report = validated(faulty);
  const nlohmann::json json = nlohmann::json::parse(report.json());
  EXPECT_EQ(json["errors"], 9);
  EXPECT_EQ(json["annotations"], 5);
  EXPECT_EQ(json["problems"].size(), 16U);
}

TEST(Fix, ClipsAndDropsWhatValidateFound) {
  CrowdData data;
  const auto report = validated(faulty, &data);
  const std::size_t assignments = data.assignments.size();
  const bdc::FixReport fixed = bdc::fix_crowd(data, &report);
  EXPECT_EQ(fixed.clipped, 2U);
  EXPECT_EQ(fixed.dropped_outside, 1U);
  EXPECT_EQ(fixed.dropped_duplicates, 1U);
  EXPECT_EQ(fixed.dropped_on_reading, 7U);
  EXPECT_EQ(data.annotations.size(), 3U);
  EXPECT_EQ(data.assignments.size(), assignments) << "that an annotator looked stays known";
  EXPECT_EQ(data.annotations[1].box, (bdc::Box{90, 90, 100, 100}));
  const TemporaryFolder folder;
  static_cast<void>(bdc::write_crowd(data, folder / "fixed.json"));
  const auto again = bdc::validate_crowd({folder / "fixed.json"});
  EXPECT_EQ(again.errors(), 0U) << again.text();
  EXPECT_EQ(again.problems.entry(ProblemKind::box_leaves_image).count, 0U);
}

TEST(Fix, RefusesAFileThatBreaksOff) {
  const std::string text = faulty;
  for (const std::string& broken :
       {text.substr(0, text.find("\"assignments\"")), text.substr(0, 40), std::string("{")}) {
    const TemporaryFolder folder;
    bdc::ReadOptions options;
    options.format = "crowd";
    CrowdData data;
    const auto report = bdc::validate_crowd({folder.write("c.json", broken)}, options, {}, &data);
    const std::size_t annotations = data.annotations.size();
    const std::string error = bdc::test::error_of([&] { static_cast<void>(bdc::fix_crowd(data, &report)); });
    EXPECT_NE(error.find("c.json:"), std::string::npos) << error;
    EXPECT_NE(error.find("nothing was fixed"), std::string::npos) << error;
    EXPECT_EQ(data.annotations.size(), annotations);
  }
}

TEST(Validate, ExtremeBoxesAreNamedWithTheirLine) {
  const TemporaryFolder folder;
  const std::string head = "image_id,class_name,class_id,rad_id,x_min,y_min,x_max,y_max\n";
  const std::string good = "a,cat,1,ann,1,2,30,40\n";
  for (const char* corners :
       {"-1e308,-1e308,1e308,1e308", "0,0,2e9,10", "-2e9,0,5,5", "0,0,1e-300,1e-300", "0,0,1e-7,5", "1,1,9,1e10"}) {
    const std::string file = folder.write("v.csv", head + good + "a,cat,1,bob," + corners + "\n" + good);
    const auto report = bdc::validate_crowd({file});
    const auto& entry = report.problems.entry(ProblemKind::extreme_box);
    ASSERT_EQ(entry.count, 1U) << corners << report.text();
    EXPECT_NE(entry.examples[0].find("v.csv:3: expected coordinates of at most 1e9"), std::string::npos)
        << entry.examples[0];
    EXPECT_EQ(report.errors(), 1U);
    EXPECT_EQ(report.annotations, 2U);
    const std::string error = bdc::test::error_of([&] { static_cast<void>(bdc::read_crowd({file})); });
    EXPECT_NE(error.find("v.csv:3: "), std::string::npos) << error;
  }
  const std::string large = folder.write("w.csv", head + "a,cat,1,ann,-1e9,0,1e9,1e-6\n");
  EXPECT_EQ(bdc::validate_crowd({large}).errors(), 0U) << "the limits themselves are allowed";
}

TEST(Validate, AnnotationIdsThatStandTwiceInAFileAreNamed) {
  const std::string head = R"({"images": [{"id": 1, "width": 90, "height": 90}], "categories": [{"id": 1, "name": "a"}],
"annotations": [)";
  const auto annotation = [](const std::string& id, int x) {
    return R"({"id": )" + id + R"(, "image_id": 1, "category_id": 1, "annotator_id": "ann", "bbox": [)" +
           std::to_string(x) + ", 0, 9, 9]}";
  };
  const std::string ids[] = {"7", "8", "7", "\"7\"", "1.5", "1.5", "null", "null", "\"\"", "7"};
  std::string text = head;
  for (std::size_t n = 0; n < std::size(ids); ++n) {
    text += (n > 0 ? ",\n" : "\n") + annotation(ids[n], static_cast<int>(n));
  }
  text += "]}";
  const auto report = validated(text);
  const auto& entry = report.problems.entry(ProblemKind::duplicate_annotation_id);
  ASSERT_EQ(entry.count, 2U) << report.text();
  EXPECT_NE(entry.examples[0].find("c.json:5: annotations[2]: the id 7 was given to the annotation in line 3 before"),
            std::string::npos)
      << entry.examples[0];
  EXPECT_NE(entry.examples[1].find("c.json:12: annotations[9]: "), std::string::npos) << entry.examples[1];
  EXPECT_EQ(report.errors(), 0U) << "nothing refers to these ids";
  EXPECT_EQ(report.annotations, std::size(ids)) << "what is no id is passed over";
  const TemporaryFolder folder;
  const std::string a = folder.write("a.json", head + annotation("1", 0) + "]}");
  const std::string b = folder.write("b.json", head + annotation("1", 20) + "]}");
  EXPECT_EQ(bdc::validate_crowd({a, b}).problems.entry(ProblemKind::duplicate_annotation_id).count, 0U)
      << "every file counts for itself";
}

TEST(Validate, EveryAssignmentToAnUnknownImageIsNamedWithItsOwnPlace) {
  const auto report = validated(R"({"images": [{"id": 1.5, "width": 90, "height": 90}],
"categories": [{"id": 1, "name": "a"}], "annotators": [{"id": "ann"}, {"id": "bob"}], "annotations": [],
"assignments": [{"image_id": 1, "annotator_id": "ann"},
{"image_id": 1, "annotator_id": "bob"}]})");
  const auto& entry = report.problems.entry(ProblemKind::unknown_image);
  ASSERT_EQ(entry.examples.size(), 2U) << report.text();
  EXPECT_NE(entry.examples[0].find("c.json:3: assignments[0]: image_id 1 "), std::string::npos) << entry.examples[0];
  EXPECT_NE(entry.examples[1].find("c.json:4: assignments[1]: image_id 1 "), std::string::npos) << entry.examples[1];
}

TEST(Validate, AnnotatorsUnderTwoNamesAreCountedAndNothingIsFixed) {
  const std::string text = R"({"images": [{"id": 1, "width": 90, "height": 90}],
"categories": [{"id": 1, "name": "a"}], "annotations": [
{"image_id": 1, "category_id": 1, "bbox": [0, 0, 9, 9], "annotator": "ann", "worker": 1},
{"image_id": 1, "category_id": 1, "bbox": [1, 0, 9, 9], "annotator": "bob", "worker": 2}]})";
  const auto report = validated(text);
  const auto& entry = report.problems.entry(ProblemKind::misnamed_annotator);
  ASSERT_EQ(entry.count, 2U) << report.text();
  EXPECT_EQ(report.errors(), 2U) << report.text();
  EXPECT_NE(entry.examples[1].find("c.json:4: annotations[1]: "), std::string::npos) << entry.examples[1];
  EXPECT_NE(entry.examples[1].find("--annotator-key NAME"), std::string::npos) << entry.examples[1];
  bdc::CrowdData data;
  const std::string error = bdc::test::error_of([&] { static_cast<void>(bdc::fix_crowd(data, &report, {})); });
  EXPECT_NE(error.find("nothing was fixed"), std::string::npos) << error;
}

TEST(Validate, DataWithoutImagesIsAnError) {
  const auto empty = validated(R"({"images": [], "categories": [], "annotations": []})");
  EXPECT_EQ(empty.errors(), 1U) << empty.text();
  EXPECT_EQ(empty.problems.entry(ProblemKind::no_images).count, 1U);
  bdc::ReadOptions yolo;
  yolo.format = "yolo";
  const TemporaryFolder folder;
  folder.write("labels/a.xml", "<annotation/>");
  const auto wrong = bdc::validate_crowd({folder / "labels"}, yolo);
  ASSERT_EQ(wrong.problems.entry(ProblemKind::no_images).count, 1U) << wrong.text();
  EXPECT_NE(wrong.problems.entry(ProblemKind::no_images).examples[0].find("labels: expected images, found none"),
            std::string::npos);
}

TEST(Detection, AnUnrecognisedFileIsNamedWithTheReason) {
  const TemporaryFolder folder;
  const auto reason = [&](const std::string& name, const std::string& text) {
    const std::string path = folder.write(name, text);
    return bdc::test::error_of([&] { static_cast<void>(bdc::read_crowd({path})); });
  };
  const auto expect = [](const std::string& found, const std::string& part) {
    EXPECT_NE(found.find(part), std::string::npos) << found;
  };
  expect(reason("empty.json", ""), "empty.json: expected labels, found an empty file");
  expect(reason("wide.json", std::string("\xFF\xFE{\0}\0", 6)), "wide.json: expected text in UTF-8");
  expect(reason("cut.json", "{\"info\": [1,\n"), "cut.json:2: ");
  expect(reason("other.json", "{\"info\": 1}"), "no labels are recognised in this JSON object");
  expect(reason("v.csv", "image_id,class_name,x_min\n"), "v.csv:1: expected the column \"rad_id\"");
  expect(reason("v.csv", "image_id,class_name,x_min\n"), "read as vindr");
  expect(reason("page.xml", "<html></html>"), "page.xml");
  expect(reason("page.xml", "<html></html>"), "read as voc");
  expect(reason("notes.md", "hello"), "the format of this file is not recognised");
}

TEST(Detection, FilesOfTwoFormatsAreRefused) {
  const TemporaryFolder folder;
  const std::string json = folder.write("ok.json", R"({"images": [{"id": 1}], "categories": [], "annotations": []})");
  const std::string csv =
      folder.write("ok.csv", "image_id,class_name,class_id,rad_id,x_min,y_min,x_max,y_max\na,cat,1,ann,1,2,30,40\n");
  const std::string error = bdc::test::error_of([&] { static_cast<void>(bdc::read_crowd({json, csv})); });
  EXPECT_NE(error.find("ok.csv: expected the format \"crowd\" of "), std::string::npos) << error;
  EXPECT_NE(error.find("found \"vindr\"; all files must be of one format"), std::string::npos) << error;
  EXPECT_EQ(bdc::read_crowd({csv, csv}).images.size(), 1U);
}

}  // namespace
