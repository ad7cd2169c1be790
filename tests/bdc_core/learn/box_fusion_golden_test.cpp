#include "bdc/learn/simple/box_fusion.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "support/golden_file.h"

namespace {

using nlohmann::json;

std::vector<bdc::FusedBox> run(const json& golden_case, const json& config) {
  std::vector<bdc::FusionBox> boxes;
  for (std::size_t m = 0; m < golden_case["models"].size(); ++m) {
    const json& model = golden_case["models"][m];
    for (std::size_t n = 0; n < model["boxes"].size(); ++n) {
      const json& b = model["boxes"][n];
      boxes.push_back({{b[0], b[1], b[2], b[3]}, model["scores"][n], model["labels"][n], static_cast<std::int32_t>(m)});
    }
  }
  const auto weight = golden_case["weights"].get<std::vector<double>>();
  const bool use_weights = config["use_weights"];
  const bdc::ModelWeights weights{golden_case["models"].size(),
                                  use_weights ? bdc::Span<const double>(weight) : bdc::Span<const double>()};
  const std::string method = config["method"];
  const double iou = config["iou_thr"];
  if (method == "wbf") {
    const std::string type = config["conf_type"];
    const bool overflow = config["allows_overflow"];
    const bdc::ClusterScore rule = type == "max"                      ? bdc::ClusterScore::kMaximum
                                   : type == "box_and_model_avg"      ? bdc::ClusterScore::kBoxAndModel
                                   : type == "absent_model_aware_avg" ? bdc::ClusterScore::kAbsentModelAware
                                   : overflow                         ? bdc::ClusterScore::kAverageOverflow
                                                                      : bdc::ClusterScore::kAverage;
    return bdc::weighted_boxes_fusion(boxes, weights, iou, config["skip_box_thr"], rule);
  }
  if (method == "nmw") return bdc::non_maximum_weighted(boxes, weights, iou, config["skip_box_thr"]);
  if (method == "nms") return bdc::non_maximum_suppression(boxes, use_weights ? &weights : nullptr, iou);
  EXPECT_EQ(method, "soft_nms");
  const bdc::Decay decay = config["soft_method"] == 1 ? bdc::Decay::kLinear : bdc::Decay::kGaussian;
  return bdc::soft_non_maximum_suppression(boxes, use_weights ? &weights : nullptr, decay, iou, config["sigma"],
                                           config["thresh"]);
}

TEST(BoxFusionGolden, EveryCaseAndConfigurationAgreesInOrder) {
  const json golden = golden_crowd("wbf_reference.json");
  ASSERT_EQ(golden["results"].size(), golden["cases"].size() * golden["configs"].size());
  for (const json& expected : golden["results"]) {
    const json& config = golden["configs"][expected["config"].get<std::size_t>()];
    const auto actual = run(golden["cases"][expected["case"].get<std::size_t>()], config);
    SCOPED_TRACE("case " + expected["case"].dump() + " config " + config.dump());
    if (expected.contains("error")) {  // the original cannot take an image without boxes; ours gives no boxes
      for (const json& model : golden["cases"][expected["case"].get<std::size_t>()]["models"]) {
        EXPECT_TRUE(model["boxes"].empty());
      }
      EXPECT_TRUE(actual.empty());
      continue;
    }
    const bool exact = config["method"] == "nms" || config["method"] == "soft_nms";
    const double tolerance = exact ? 1e-8 : 1e-6;
    ASSERT_EQ(actual.size(), expected["boxes"].size());
    for (std::size_t n = 0; n < actual.size(); ++n) {
      const double corners[4] = {actual[n].box.x1, actual[n].box.y1, actual[n].box.x2, actual[n].box.y2};
      for (std::size_t c = 0; c < 4; ++c) EXPECT_NEAR(corners[c], expected["boxes"][n][c].get<double>(), tolerance);
      EXPECT_NEAR(actual[n].score, expected["scores"][n].get<double>(), tolerance);
      EXPECT_EQ(actual[n].label, expected["labels"][n].get<int>());
    }
  }
}

std::vector<bdc::FusionBox> annotations_of(const json& rows, int K) {
  std::vector<bdc::FusionBox> boxes;
  for (const json& a : rows) {
    const int annotator = a[5];
    if (annotator < K) boxes.push_back({{a[0], a[1], a[2], a[3]}, 1, a[4], annotator});
  }
  return boxes;
}

/// Every expected row [x1,y1,x2,y2,class,weight] has its own counterpart.
void expect_same_rows(std::vector<bdc::EarlBox> actual, const json& rows, const json* score_times_K) {
  ASSERT_EQ(actual.size(), rows.size());
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const json& row = rows[r];
    const auto same = std::find_if(actual.begin(), actual.end(), [&](const bdc::EarlBox& e) {
      const double corners[4] = {e.fused.box.x1, e.fused.box.y1, e.fused.box.x2, e.fused.box.y2};
      for (std::size_t c = 0; c < 4; ++c) {
        if (!(std::abs(corners[c] - row[c].get<double>()) <= 5e-4)) return false;
      }
      return e.fused.label == row[4].get<int>() && e.weight == row[5].get<int>();
    });
    ASSERT_NE(same, actual.end()) << "no counterpart of " << row;
    if (score_times_K != nullptr) {
      EXPECT_NEAR(same->score_times_annotators, (*score_times_K)[r].get<double>(), 1e-6 * 7);
    }
    actual.erase(same);
  }
}

TEST(EarlGolden, WeightedAndUnweightedImagesGiveTheSameRows) {
  const json golden = golden_crowd("wbf_reference.json")["earl"];
  const int K = golden["K"];
  const auto ranges = golden["annotator_weights"].get<std::vector<std::pair<int, double>>>();
  const std::vector<double> weights = bdc::weights_from_ranges(ranges, static_cast<std::size_t>(K));
  for (const json& image : golden["images"]) {
    SCOPED_TRACE("image " + image["id"].dump());
    const auto boxes = annotations_of(image["annotations"], K);
    const double iou = golden["iou_thr"];
    expect_same_rows(bdc::earl(boxes, static_cast<std::size_t>(K), {}, iou), image["unweighted"]["rows"],
                     &image["unweighted"]["score_times_K"]);
    expect_same_rows(bdc::earl(boxes, static_cast<std::size_t>(K), weights, iou), image["weighted"]["rows"],
                     &image["weighted"]["score_times_K"]);
  }
}

TEST(EarlGolden, TruncationLosesOneWhereTheOriginalDoes) {
  const json golden = golden_crowd("wbf_reference.json")["earl"];
  for (const json& golden_case : golden["truncation_cases"]) {
    const int K = golden_case["K"];
    expect_same_rows(bdc::earl(annotations_of(golden_case["annotations"], K), static_cast<std::size_t>(K), {}),
                     golden_case["output"], nullptr);
  }
  for (int K = 1; K <= 100; ++K) {
    std::vector<int> lost;
    std::vector<bdc::FusionBox> boxes;
    for (int n = 1; n <= K; ++n) {
      boxes.push_back({{10, 20, 110, 220}, 1, 0, n - 1});
      const auto fused = bdc::earl(boxes, static_cast<std::size_t>(K), {});
      ASSERT_EQ(fused.size(), 1u);
      if (fused[0].weight != n) lost.push_back(n);
    }
    const std::string key = std::to_string(K);
    if (golden["truncation_table"].contains(key)) {
      EXPECT_EQ(json(lost), golden["truncation_table"][key]) << K;
    }
  }
}

}  // namespace
