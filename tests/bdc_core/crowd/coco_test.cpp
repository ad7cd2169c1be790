#include "bdc/crowd/coco.h"

#include <random>

#include "bdc_core/crowd/io_support.h"

namespace bdc::test {
namespace {

CrowdData truth() {
  return read_truth(data_path("coco/truth.json"));
}

Predictions predictions(const std::string& text, const CrowdData& data) {
  std::istringstream in(text);
  return parse_predictions(in, "p.json", data);
}

TEST(CocoTruth, ReadsCocosOwnFields) {
  const CrowdData data = truth();
  ASSERT_EQ(data.images.size(), 3U);
  ASSERT_EQ(data.truth.size(), 3U);
  EXPECT_EQ(data.truth[0].label, 1);
  EXPECT_EQ(data.truth[0].area, 42061.803);
  EXPECT_EQ(data.truth[0].box.x1, 19.23);
  EXPECT_FALSE(data.truth[0].is_crowd);
  EXPECT_TRUE(data.truth[1].is_crowd);
  EXPECT_EQ(data.truth[2].box.width(), 0) << "COCO's files hold boxes without width; truth keeps them";
  EXPECT_TRUE(data.has_truth);
  EXPECT_EQ(data.truth_covers, (std::vector<std::uint8_t>{1, 1, 1}));
  EXPECT_TRUE(data.annotators.empty());
  EXPECT_TRUE(data.annotations.empty());
}

TEST(CocoTruth, KeepsTheFilesWidthsForEvaluation) {
  ReadReport report;
  const CrowdData data = read_truth(data_path("coco/truth.json"), &report);
  ASSERT_EQ(report.truth_xywh.size(), data.truth.size());
  EXPECT_EQ(report.truth_xywh[0], (std::array<double, 4>{19.23, 383.18, 314.5, 244.46}));
  EXPECT_NE(data.truth[0].box.height(), 244.46) << "a difference of corners has other bits";
}

TEST(CocoTruth, AnnotatorsBoxesAreNotTruth) {
  const std::string error = error_of([] { static_cast<void>(read_truth(data_path("crowd/crowd.json"))); });
  EXPECT_NE(error.find("expected true boxes, found only annotators' boxes"), std::string::npos);
}

TEST(CocoTruth, BrokenFilesSayWhereAndWhat) {
  const std::string good = data_text("coco/truth.json");
  ReadOptions options;
  options.role = BoxRole::truth;
  const std::vector<BrokenFile> cases = {
      {good.substr(0, 500), "is it truncated?"},
      {with(good, "\"categories\"", "\"classes\""), "expected the member \"categories\""},
      {with(good, "\"image_id\": 242287", "\"image_id\": 5"),
       "in:3: annotations[0]: image_id 5 is not in the list of images"},
      {with(good, "\"category_id\": 2", "\"category_id\": 20"), "annotations[0]: category_id 20 is not in the list"},
      {with(good, "\"category_id\": 2", "\"category\": 2"), "annotations[0]: expected the member \"category_id\""},
      {with(good, "314.5", "-314.5"), "annotations[0]: expected a box with x1 < x2"},
      {with(good, "314.5", "Infinity"), "annotations[0]: expected a box of finite numbers"},
      {with(good, "\"iscrowd\": 1", "\"iscrowd\": \"yes\""), "annotations[1].iscrowd: expected 0 or 1, found \"yes\""},
      {with(good, "\"area\": 10", "\"area\": \"10\""), "annotations[1].area: expected a number, found the string"},
      {with(good, "\"id\": 245915", "\"id\": 242287"), "images[1]: the image id 242287 is defined twice"},
      {with(good, "\"width\": 426", "\"width\": \"426\""),
       "images[0].width: expected a whole number, found the string"},
      {"\xFE\xFF" + good, "byte order mark of UTF-16"},
  };
  expect_refused_by("coco", cases, "in", options);
}

TEST(CocoTruth, WritesBackTheSame) {
  const TemporaryFolder folder;
  write_truth(truth(), folder / "t.json");
  write_truth(read_truth(folder / "t.json"), folder / "u.json");
  EXPECT_EQ(read_file(folder / "t.json"), read_file(folder / "u.json"));
  EXPECT_NE(read_file(folder / "t.json").find("[19.23,383.18,314.5,244.46]"), std::string::npos);
}

TEST(AttachTruth, MatchesByIdAndKeepsWhichImagesAreCovered) {
  CrowdData crowd = read_crowd({data_path("crowd/crowd.json")});
  const TemporaryFolder folder;
  folder.write("t.json", R"({"images": [{"id": "b-2"}, {"id": 99}], "categories": [{"id": "p", "name": "person"}],
    "annotations": [{"image_id": "b-2", "category_id": "p", "bbox": [1, 2, 3, 4]},
                    {"image_id": 99, "category_id": "p", "bbox": [1, 2, 3, 4]}]})");
  EXPECT_EQ(attach_truth(crowd, folder / "t.json"), 1U);
  EXPECT_EQ(crowd.truth_covers, (std::vector<std::uint8_t>{0, 1, 0}));
  ASSERT_EQ(crowd.truth.size(), 1U);
  EXPECT_EQ(crowd.truth[0].label, 1);
  EXPECT_EQ(crowd.truth_begin, (std::vector<std::size_t>{0, 0, 1, 1}));
}

TEST(AttachTruth, FallsBackToFileAndClassNames) {
  CrowdData crowd = read_crowd({data_path("crowd/crowd.json")});
  const TemporaryFolder folder;
  folder.write("t.json", R"({"images": [{"id": 1000, "file_name": "other/b.jpg"}],
    "categories": [{"id": 1, "name": "person"}],
    "annotations": [{"image_id": 1000, "category_id": 1, "bbox": [1, 2, 3, 4]}]})");
  EXPECT_EQ(attach_truth(crowd, folder / "t.json"), 1U);
  EXPECT_EQ(crowd.truth.at(0).image, 1);
  EXPECT_EQ(crowd.truth.at(0).label, 1);
}

TEST(AttachTruth, RefusesATruthOfOtherImagesOrClasses) {
  CrowdData crowd = read_crowd({data_path("crowd/crowd.json")});
  const TemporaryFolder folder;
  const std::string text = R"({"images": [{"id": 7}], "categories": [{"id": 1, "name": "dog"}],
    "annotations": [{"image_id": 7, "category_id": 1, "bbox": [1, 2, 3, 4]}]})";
  folder.write("t.json", text);
  EXPECT_NE(error_of([&] { attach_truth(crowd, folder / "t.json"); }).find("class 1 (\"dog\") is not in the crowd"),
            std::string::npos);
  folder.write("t.json", with(with(text, "\"id\": 7", "\"id\": 70"), "\"image_id\": 7", "\"image_id\": 70"));
  EXPECT_NE(error_of([&] { attach_truth(crowd, folder / "t.json"); }).find("none of its 1 images"), std::string::npos);
}

TEST(CocoResults, ReadsBestFirstPerImageWithClassProbabilities) {
  const Predictions p = read_predictions(data_path("coco/results.json"), truth());
  EXPECT_EQ(p.num_classes, 2);
  EXPECT_EQ(p.begin, (std::vector<std::size_t>{0, 1, 3, 3}));
  EXPECT_EQ(p.score, (std::vector<double>{0.236, 0.75, 0.25}));
  EXPECT_DOUBLE_EQ(p.class_probs[0], 0.382);  // score s: s * onehot + (1 - s) / J
  EXPECT_DOUBLE_EQ(p.class_probs[1], 0.618);
  EXPECT_DOUBLE_EQ(p.class_probs[2], 0.25);  // class_probs are divided by their sum
  EXPECT_DOUBLE_EQ(p.class_probs[3], 0.75);
}

TEST(CocoResults, ScanKeepsTheFilesNumbers) {
  std::vector<CocoResult> found;
  scan_coco_results(data_path("coco/results.json"), truth(), {}, [&](const CocoResult& r) { found.push_back(r); });
  ASSERT_EQ(found.size(), 3U);
  EXPECT_EQ(found[1].xywh, (std::array<double, 4>{258.15, 41.29, 348.26, 243.78}));
  EXPECT_EQ(found[1].image, 0);
  EXPECT_EQ(found[1].label, 1);
}

TEST(CocoResults, BrokenFilesSayWhereAndWhat) {
  const std::string good = data_text("coco/results.json");
  const std::vector<BrokenFile> cases = {
      {"", "p.json:1: expected JSON, found an empty file"},
      {"3", "expected a list of COCO results"},
      {good.substr(0, 150), "is it truncated?"},
      {with(good, "245915", "1"), "p.json:1: [0]: image_id 1 is not in the data (3 images)"},
      {with(good, "\"category_id\": 1", "\"category_id\": 7"), "[0]: category_id 7 is not in the data (2 classes)"},
      {with(good, ", \"score\": 0.236", ""), "p.json:2: [1]: expected the member \"score\", found none"},
      {with(good, "0.236", "1.5"), "[1]: expected a score from 0 to 1, found 1.5"},
      {with(good, "0.236", "NaN"), "[1].score: expected a finite number"},
      {with(good, "0.236", "\"0.236\""), "[1].score: expected a number, found the string"},
      {with(good, "348.26", "-3"), "[1]: expected a bbox with width and height above 0, found -3 x 243.78"},
      {with(good, "348.26", "0"), "[1]: expected a bbox with width and height above 0, found 0 x 243.78"},
      {with(good, "348.26", "NaN"), "[1]: expected a bbox of finite numbers"},
      {with(good, "[0.5, 1.5]", "[0.5]"), "[2]: expected 2 class_probs, one per class, found 1"},
      {with(good, "[0.5, 1.5]", "[-0.5, 1]"), "[2]: expected class_probs that are finite and not negative"},
      {with(good, "[0.5, 1.5]", "[0, 0]"), "[2]: expected class_probs with a sum above 0"},
      {"{\"images\": []}", "expected the member \"annotations\""},
  };
  expect_refused(
      cases, [&](const std::string& text) { return error_of([&] { static_cast<void>(predictions(text, truth())); }); });
}

TEST(CocoResults, WritingReadsBackTheSameBits) {
  const CrowdData data = truth();
  std::mt19937 random(3);
  std::uniform_real_distribution<double> uniform(0.01, 1);
  Predictions p;
  p.num_classes = 2;
  for (int i = 0; i < 3; ++i) {
    p.begin.push_back(p.box.size());
    for (int n = 0; n < 20; ++n) {
      const double x = 100 * uniform(random), y = 100 * uniform(random), q = uniform(random);
      p.box.push_back({x, y, x + 50 * uniform(random), y + 50 * uniform(random)});
      p.score.push_back(1 - n / 20.0);
      p.class_probs.insert(p.class_probs.end(), {q, 1 - q});
    }
  }
  p.begin.push_back(p.box.size());
  const TemporaryFolder folder;
  write_predictions(p, data, folder / "p.json");
  const Predictions back = read_predictions(folder / "p.json", data);
  EXPECT_EQ(back.box, p.box);
  EXPECT_EQ(back.score, p.score);
  EXPECT_EQ(back.class_probs, p.class_probs);
  EXPECT_EQ(back.begin, p.begin);
}

Targets some_targets() {
  Targets t;
  t.num_classes = 2;
  t.box = {{1, 2, 3.25, 4}, {0.1, 0.2, 0.1 + 0.2, 0.2 + 12.7}, {5, 5, 6, 6}};
  t.class_probs = {0.25, 0.75, 1, 0, 0.5, 0.5};
  t.weight = {1, 0.5, 0.125};
  t.score = {0.75, 0.9, 0.1};
  t.existence = {1, 0.9, 0.2};
  t.box_std = {{1, 2, 3, 4}, {0.5, 0.5, 0.5, 0.5}, {0, 0, 0, 0}};
  t.begin = {0, 1, 1, 3};
  return t;
}

TEST(CocoTargets, WritingReadsBackTheSame) {
  const TemporaryFolder folder;
  const Targets t = some_targets();
  write_targets(t, truth(), folder / "t.json");
  const Targets back = read_targets(folder / "t.json", truth());
  EXPECT_EQ(back.box, t.box);
  EXPECT_EQ(back.class_probs, t.class_probs);
  EXPECT_EQ(back.weight, t.weight);
  EXPECT_EQ(back.score, t.score);
  EXPECT_EQ(back.existence, t.existence);
  EXPECT_EQ(back.box_std, t.box_std);
  EXPECT_EQ(back.begin, t.begin);
}

TEST(CocoTargets, CanBeEvaluatedAsResultsWithClassesInAnotherOrder) {
  const TemporaryFolder folder;
  write_targets(some_targets(), truth(), folder / "t.json");
  CrowdData swapped = truth();
  std::swap(swapped.classes[0], swapped.classes[1]);
  swapped.truth.clear();
  const Predictions p = read_predictions(folder / "t.json", swapped);
  EXPECT_EQ(p.class_probs[0], 0.75);
  EXPECT_EQ(p.class_probs[1], 0.25);
}

TEST(CocoTargets, AFailedWriteLeavesTheOldFile) {
  const TemporaryFolder folder;
  folder.write("t.json", "old");
  Targets t = some_targets();
  t.score[2] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THROW(write_targets(t, truth(), folder / "t.json"), std::invalid_argument);
  EXPECT_EQ(read_file(folder / "t.json"), "old");
}

TEST(SimulatedCrowd, ReadsCrowdTruthAndPredictions) {
  const SimulatedCrowd sim = read_simulated_crowd(data_path("sim/sim.json"));
  EXPECT_EQ(sim.crowd.classes.size(), 2U);
  EXPECT_EQ(sim.crowd.annotators.size(), 3U);
  ASSERT_EQ(sim.crowd.annotations.size(), 2U);
  EXPECT_EQ(sim.crowd.annotations[1].annotator, 2);
  EXPECT_EQ(sim.crowd.annotations[1].label, 0);
  EXPECT_EQ(sim.crowd.assignments.size(), 3U);
  EXPECT_TRUE(sim.crowd.assignments_known);
  ASSERT_EQ(sim.crowd.truth.size(), 1U);
  EXPECT_EQ(sim.crowd.truth[0].box.x1, 10.5);
  EXPECT_EQ(sim.predictions.begin, (std::vector<std::size_t>{0, 2, 2}));
  EXPECT_EQ(sim.predictions.score, (std::vector<double>{0.9, 0.75}));
  EXPECT_EQ(sim.predictions.class_probs, (std::vector<double>{0.9, 0.1, 0.25, 0.75}));
  EXPECT_EQ(read_crowd({data_path("sim/sim.json")}).annotations.size(), 2U) << "the format is detected";
}

TEST(SimulatedCrowd, BrokenFilesSayWhereAndWhat) {
  const std::string good = data_text("sim/sim.json");
  const std::vector<BrokenFile> cases = {
      {good.substr(0, 200), "is it truncated?"},
      {with(good, "\"classes\": 2", "\"classes\": 2000000"), "classes: expected a number from 0 to 1000000"},
      {with(good, "\"classes\": 2", "\"classes\": -1"), "classes: expected a number from 0 to 1000000"},
      {with(good, "\"classes\": 2, ", ""), "expected \"classes\" and \"annotators\" (whole numbers) before \"images\""},
      {with(good, "70, 1]]", "70, 2]]"), "images[0].truth[0]: expected a class from 0 to 1, found 2"},
      {with(good, "71, 1, 0]", "71, 1, 3]"), "images[0].annotations[0]: expected an annotator from 0 to 2, found 3"},
      {with(good, "71, 1, 0]", "71, 1]"), "images[0].annotations[0]: expected 6 numbers"},
      {with(good, "71, 1, 0]", "71, 1.5, 0]"), "expected a class from 0 to 1, found 1.5"},
      {with(good, "[11, 21, 61", "[61, 21, 11"), "in:2: images[0]: expected a box with x1 < x2"},
      {with(good, "\"seen_by\": [0, 2]", "\"seen_by\": [0, 7]"),
       "images[0].seen_by[1]: expected an annotator from 0 to 2"},
      {with(good, "\"id\": 1", "\"id\": 0"), "images[1]: the image id 0 is defined twice"},
      {with(good, "\"images\"", "\"pictures\""), "expected the member \"images\""},
  };
  expect_refused_by("sim", cases);
}

CrowdData cats_and_dogs() {
  CrowdData data;
  for (const char* name : {"cat", "dog"}) {
    ClassRecord record;
    record.id = {std::to_string(data.classes.size() + 1), true};
    record.name = name;
    data.classes.push_back(record);
  }
  for (const char* file : {"set/a.jpg", "set/b.jpg"}) {
    ImageRecord record;
    record.id = {std::to_string(data.images.size() + 1), true};
    record.file = file;
    record.width = record.height = 100;
    data.images.push_back(record);
  }
  data.finalize();
  return data;
}

TEST(CocoResults, NamesDecideWhereIdsMeanSomethingElse) {
  const CrowdData data = cats_and_dogs();
  std::istringstream in(R"({"images": [{"id": 1, "file_name": "x/b.jpg"}, {"id": 7, "file_name": "x/a.jpg"}],
    "categories": [{"id": 1, "name": "dog"}, {"id": 9, "name": "cat"}],
    "annotations": [{"id": 1, "image_id": 1, "category_id": 1, "bbox": [1, 1, 5, 5], "score": 0.5},
                    {"id": 2, "image_id": 7, "category_id": 9, "bbox": [1, 1, 5, 5], "score": 0.4}]})");
  std::vector<CocoResult> seen;
  scan_coco_results(in, "results.json", data, {}, [&](const CocoResult& r) { seen.push_back(r); });
  ASSERT_EQ(seen.size(), 2U);
  EXPECT_EQ(seen[0].image, 1);
  EXPECT_EQ(seen[0].label, 1);
  EXPECT_EQ(seen[1].image, 0);
  EXPECT_EQ(seen[1].label, 0);
}

/// Results of one box in image 1, with the categories before or behind it.
std::string with_categories(const std::string& categories, const std::string& category_id, bool behind = false) {
  const std::string list = "\"categories\": " + categories,
                    boxes = "\"annotations\": [{\"image_id\": 1, \"category_id\": " + category_id +
                            ", \"bbox\": [1, 1, 5, 5], \"score\": 0.5}]";
  return behind ? "{" + boxes + ", " + list + "}" : "{" + list + ", " + boxes + "}";
}

TEST(CocoResults, AClassThatTheDataLacksIsNotTakenForTheOneOfItsId) {
  const CrowdData data = cats_and_dogs();  // 1 cat, 2 dog
  const char* categories = R"([{"id": 1, "name": "dog"}, {"id": 2, "name": "zebra"}, {"id": 3, "name": "cats"}])";
  for (const bool behind : {false, true}) {
    EXPECT_EQ(predictions(with_categories(categories, "1", behind), data).box.size(), 1U);
    const auto error = [&](const char* id) {
      return error_of([&] { static_cast<void>(predictions(with_categories(categories, id, behind), data)); });
    };
    EXPECT_NE(error("2").find("category_id 2 (\"zebra\") is not in the data (2 classes)"), std::string::npos)
        << error("2");
    EXPECT_NE(error("3").find("nearest name \"cat\""), std::string::npos) << error("3");
    EXPECT_NE(error("7").find("is not in the file's own list of categories"), std::string::npos) << error("7");
  }
}

TEST(CocoResults, FromAPipeCategoriesThatComeTooLateAreAnError) {
  struct Pipe : std::streambuf {  // cannot go back
    explicit Pipe(std::string bytes) : text(std::move(bytes)) {
      setg(text.data(), text.data(), text.data() + text.size());
    }
    std::string text;
  };
  const CrowdData data = cats_and_dogs();
  const auto read = [&](const char* categories) {
    Pipe pipe(with_categories(categories, "2", true));
    std::istream in(&pipe);
    static_cast<void>(parse_predictions(in, "p.json", data));
  };
  EXPECT_NO_THROW(read(R"([{"id": 1, "name": "cat"}, {"id": 2, "name": "dog"}])"));
  EXPECT_NE(error_of([&] {
              read(R"([{"id": 1, "name": "dog"}, {"id": 2, "name": "cat"}])");
            }).find("expected them before the annotations"),
            std::string::npos);
}

TEST(CocoResults, IdsDecideWhereThereAreNoNames) {
  CrowdData data = cats_and_dogs();
  const auto label = [&](const char* categories) {
    std::int32_t found = -1;
    std::istringstream in(with_categories(categories, "2"));
    scan_coco_results(in, "r.json", data, {}, [&](const CocoResult& r) { found = r.label; });
    return found;
  };
  EXPECT_EQ(label("[]"), 1);
  EXPECT_EQ(label(R"([{"id": 2}])"), 1);
  data.classes[1].name = "";
  EXPECT_EQ(label(R"([{"id": 2, "name": "dog"}])"), 1);
  data.classes[1].name = "2";  // as the labels have numbers only
  EXPECT_EQ(label(R"([{"id": 2, "name": "dog"}])"), 1);
}

TEST(CocoResults, ResultsOnOtherImagesAreCounted) {
  const CrowdData data = cats_and_dogs();
  std::size_t skipped = 0, used = 0;
  ResultOptions options;
  options.skip_unknown_images = true;
  options.skipped = &skipped;
  std::istringstream in(R"([{"image_id": 1, "category_id": 1, "bbox": [1, 1, 5, 5], "score": 0.5},
                            {"image_id": 8, "category_id": 1, "bbox": [1, 1, 5, 5], "score": 0.5},
                            {"image_id": 9, "category_id": 1, "bbox": [1, 1, 5, 5], "score": 0.5}])");
  scan_coco_results(in, "r.json", data, options, [&](const CocoResult&) { ++used; });
  EXPECT_EQ(used, 1U);
  EXPECT_EQ(skipped, 2U);
}

TEST(CocoResults, LongIdsThatBeginAlikeStayApart) {
  const std::string start(80, 'x');
  CrowdData data;
  for (const char* end : {"a", "b"}) {
    data.images.push_back({{start + end, false}, std::string(end) + ".jpg", 100, 100});
    data.classes.push_back({{start + end, false}, end});
  }
  data.finalize();
  const std::string text = R"({"images": [{"id": "Sa", "file_name": "a.jpg"}, {"id": "Sb", "file_name": "b.jpg"}],
    "categories": [{"id": "Sa", "name": "a"}, {"id": "Sb", "name": "b"}], "annotations": [
    {"image_id": "Sa", "category_id": "Sa", "bbox": [0, 0, 9, 9], "score": 0.5},
    {"image_id": "Sb", "category_id": "Sb", "bbox": [0, 0, 9, 9], "score": 0.5}]})";
  std::string filled;
  for (const char c : text) filled += c == 'S' ? start : std::string(1, c);
  std::istringstream in(filled);
  std::vector<std::pair<std::int32_t, std::int32_t>> found;
  scan_coco_results(in, "p.json", data, {}, [&](const CocoResult& r) { found.emplace_back(r.image, r.label); });
  EXPECT_EQ(found, (std::vector<std::pair<std::int32_t, std::int32_t>>{{0, 0}, {1, 1}}));
}

}  // namespace
}  // namespace bdc::test
