#include "bdc/metrics/coco_eval.h"

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <vector>

#include "support/golden_file.h"

namespace {

using nlohmann::json;

constexpr double kTolerance = 1e-9;

struct Workload {
  json golden = golden_crowd("coco_eval.json");
  std::vector<bdc::CocoDetection> detections;
  std::vector<bdc::CocoTruth> truth;
  std::map<long, std::int32_t> image_index, class_index;  // ordered by id, as the evaluation wants

  Workload() {
    for (const json& image : golden["ground_truth"]["images"]) image_index[image["id"].get<long>()] = 0;
    for (const json& category : golden["ground_truth"]["categories"]) class_index[category["id"].get<long>()] = 0;
    std::int32_t next = 0;
    for (auto& entry : image_index) entry.second = next++;
    next = 0;
    for (auto& entry : class_index) entry.second = next++;
    const auto box = [](const json& b) { return bdc::CocoBox{b[0], b[1], b[2], b[3]}; };
    for (const json& a : golden["ground_truth"]["annotations"]) {
      truth.push_back({box(a["bbox"]), a["area"], image_index.at(a["image_id"]), class_index.at(a["category_id"]),
                       a["iscrowd"].get<int>() != 0});
    }
    for (const json& d : golden["detections"]) {
      detections.push_back(
          {box(d["bbox"]), d["score"], image_index.at(d["image_id"]), class_index.at(d["category_id"])});
    }
  }

  [[nodiscard]] bdc::CocoEvalResult evaluate(int threads) const {
    bdc::CocoEvalOptions options;
    options.extra_ious = {0.4};
    options.curve_ious = {0.5};
    options.threads = threads;
    return bdc::coco_evaluate(detections, truth, image_index.size(), class_index.size(), options);
  }
};

TEST(CocoEvalGolden, TheTwelveNumbersAreThoseOfPycocotools) {
  const Workload w;
  const auto result = w.evaluate(1);
  const auto& names = bdc::coco_stat_names();
  for (std::size_t s = 0; s < names.size(); ++s) {
    EXPECT_EQ(w.golden["stats_order"][s], names[s]);
    EXPECT_NEAR(result.stats[s], w.golden["stats"][names[s]].get<double>(), kTolerance) << names[s];
  }
}

TEST(CocoEvalGolden, EveryClassHasPycocotoolsNumbers) {
  const Workload w;
  const auto result = w.evaluate(1);
  ASSERT_EQ(w.golden["per_class"].size(), result.classes.size());
  for (const json& expected : w.golden["per_class"]) {
    const long id = expected["category_id"];
    const bdc::CocoClassResult& c = result.classes[static_cast<std::size_t>(w.class_index.at(id))];
    const std::map<std::string, double> actual{{"ap", c.ap},
                                               {"ap50", c.ap50},
                                               {"ap75", c.ap75},
                                               {"ap_small", c.ap_per_area[1]},
                                               {"ap_medium", c.ap_per_area[2]},
                                               {"ap_large", c.ap_per_area[3]},
                                               {"ar1", c.ar_per_max_detections[0]},
                                               {"ar10", c.ar_per_max_detections[1]},
                                               {"ar100", c.ar_per_max_detections[2]},
                                               {"ap40", c.ap_per_extra_iou[0]},
                                               {"non_ignored_gt", static_cast<double>(c.truth_count)}};
    for (const auto& [name, value] : actual) {
      EXPECT_NEAR(value, expected[name].get<double>(), kTolerance) << "class " << id << " " << name;
    }
    for (std::size_t t = 0; t < 10; ++t) {
      EXPECT_NEAR(c.ap_per_iou[t], expected["ap_per_iou"][t].get<double>(), kTolerance) << "class " << id;
      EXPECT_NEAR(c.recall_per_iou[t], expected["recall_per_iou"][t].get<double>(), kTolerance) << "class " << id;
    }
    EXPECT_EQ(expected.size(), actual.size() + 3) << "a field of the file is not compared";
  }
}

TEST(CocoEvalGolden, CurvesAgreeAtAll101Recalls) {
  const Workload w;
  const auto result = w.evaluate(1);
  ASSERT_FALSE(w.golden["curves"].empty());
  for (const auto& [id, expected] : w.golden["curves"].items()) {
    const auto& curve = result.curves[static_cast<std::size_t>(w.class_index.at(std::stol(id)))];
    EXPECT_EQ(curve.iou, 0.5);
    for (std::size_t r = 0; r < 101; ++r) {
      EXPECT_NEAR(curve.precision[r], expected["precision_iou50_all_maxdet100"][r].get<double>(), kTolerance) << r;
      EXPECT_NEAR(curve.score[r], expected["scores_iou50_all_maxdet100"][r].get<double>(), kTolerance) << r;
    }
  }
}

TEST(CocoEvalGolden, ASingleThresholdOf04AgreesAsAnExtraAndAlone) {
  const Workload w;
  const json& expected = w.golden["iou_0_4"];
  const auto extra = w.evaluate(1);
  EXPECT_NEAR(extra.ap_at(10, 0, 2), expected["AP"].get<double>(), kTolerance);
  EXPECT_NEAR(extra.ar_at(10, 0, 2), expected["AR100"].get<double>(), kTolerance);
  EXPECT_NEAR(extra.ap_at(10, 1, 2), expected["AP_small"].get<double>(), kTolerance);
  EXPECT_NEAR(extra.ap_at(10, 2, 2), expected["AP_medium"].get<double>(), kTolerance);
  EXPECT_NEAR(extra.ap_at(10, 3, 2), expected["AP_large"].get<double>(), kTolerance);

  bdc::CocoEvalOptions options;
  options.iou_thresholds = {0.4};
  const auto alone = bdc::coco_evaluate(w.detections, w.truth, w.image_index.size(), w.class_index.size(), options);
  EXPECT_NEAR(alone.stats[0], expected["AP"].get<double>(), kTolerance);
  EXPECT_NEAR(alone.stats[8], expected["AR100"].get<double>(), kTolerance);
  EXPECT_EQ(alone.stats[1], -1) << "AP50 is undefined when 0.5 is not among the thresholds";
}

TEST(CocoEvalGolden, SameBitsForAnyNumberOfThreads) {
  const Workload w;
  const auto one = w.evaluate(1);
  for (const int threads : {2, 5}) {
    const auto many = w.evaluate(threads);
    EXPECT_EQ(one.stats, many.stats);
    EXPECT_EQ(one.mean_precision, many.mean_precision);
    EXPECT_EQ(one.mean_recall, many.mean_recall);
    for (std::size_t k = 0; k < one.classes.size(); ++k)
      EXPECT_EQ(one.classes[k].ap_per_iou, many.classes[k].ap_per_iou);
  }
}

}  // namespace
