#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "bdc/crowd/geometry.h"
#include "bdc/crowd/grouping.h"
#include "bdc/learn/simple/group_consensus.h"
#include "bdc_core/learn/bdc_golden.h"

namespace {

using nlohmann::json;

/// Runs one step and compares every field of `step`: with the original at the tolerances its README states for float32,
/// and with the float64 twin at 1e-8.
void run_and_compare(const BdcGolden& golden, bdc::BdcModel& model,
                     const std::vector<BdcGolden::Predictions>& predictions, const json& step, int threads) {
  const std::size_t K = golden.K, J = golden.J;
  const double twin_tolerance = 1e-8;
  const json& twin = step["double_twin"];

  const auto compare_expected_log = [&](const json& expected) {
    const bdc::ConfusionColumns& actual = model.expected_log_confusion();
    std::size_t compared = 0;
    for (std::size_t j = 0; j < J; ++j) {
      for (std::size_t l = 0; l < J; ++l) {
        const std::size_t column = actual.find(0, static_cast<std::int32_t>(l));
        if (column == bdc::ConfusionColumns::npos) continue;
        EXPECT_NEAR(actual.value[column * J + j], expected[j][l].get<double>(), 2e-6);
        ++compared;
      }
    }
    EXPECT_EQ(compared, J * J) << "annotator 0 uses every class in this file";
  };
  compare_expected_log(step["expected_ln_pi_annotator0_used"]);

  bdc::BdcModel::Workspace workspace;
  for (std::size_t i = 0; i < predictions.size(); ++i) model.aggregate_image(i, predictions[i].view(), workspace);
  const bdc::BdcUpdate update = model.update(threads);

  // match: exact
  for (std::size_t i = 0; i < predictions.size(); ++i) {
    const json& expected = step["match"][i];
    const std::size_t first = golden.crowd.annotation_begin[i];
    ASSERT_EQ(expected.size(), golden.crowd.annotation_begin[i + 1] - first);
    for (std::size_t a = 0; a < expected.size(); ++a) {
      const std::int32_t object = model.object_of(first + a);
      const std::int32_t matched = object < 0 ? -1 : model.object(i, static_cast<std::size_t>(object)).prediction;
      EXPECT_EQ(matched, expected[a].get<int>()) << "image " << i << " annotation " << a;
    }
  }

  // posteriors after the step
  const bdc::AnnotatorPosteriors posteriors = model.posteriors("reference", threads);
  for (std::size_t k = 0; k < K; ++k) {
    const bdc::BoxPosterior& box = model.box_posterior(k);
    for (std::size_t i = 0; i < 4; ++i) {
      const double beta = box.beta[bdc::packed(i, i)];
      EXPECT_NEAR(box.mean[i], step["mu"][k][i].get<double>(), 5e-7);
      EXPECT_NEAR(box.upsilon, step["upsilon"][k][i].get<double>(), 0);
      EXPECT_NEAR(beta, step["beta"][k][i].get<double>(), 1e-5 * step["beta"][k][i].get<double>());
      EXPECT_TRUE(close(box.mean[i], twin["mu"][k][i], twin_tolerance)) << k;
      EXPECT_TRUE(close(beta, twin["beta"][k][i], twin_tolerance)) << k;
    }
    for (std::size_t j = 0; j < J; ++j) {
      for (std::size_t l = 0; l < J; ++l) {
        EXPECT_NEAR(posteriors.alpha(k, j, l), step["alpha"][k][j][l].get<double>(), 2e-5);
        EXPECT_TRUE(close(posteriors.alpha(k, j, l), twin["alpha"][k][j][l], twin_tolerance));
      }
    }
  }
  compare_expected_log(step["expected_ln_pi_annotator0_after"]);
  const double bound = step["lower_bound"];
  EXPECT_NEAR(update.bound, bound, 1e-6 * std::abs(bound));
  EXPECT_TRUE(close(update.bound, twin["lower_bound"], twin_tolerance));

  // aggregated rows: the twin lists all of them, the original those that pass its filter
  for (std::size_t i = 0; i < predictions.size(); ++i) {
    const json& all = twin["aggregated_all_rows"][i];
    ASSERT_EQ(model.num_objects(i), all["prediction"].size()) << "image " << i;
    std::map<int, std::size_t> row_of;
    for (std::size_t n = 0; n < model.num_objects(i); ++n) {
      const bdc::BdcObject& object = model.object(i, n);
      row_of[object.prediction] = n;
      EXPECT_EQ(object.prediction, all["prediction"][n].get<int>());
      const bdc::Box box = bdc::to_corners(object.box);
      const double corners[4] = {box.x1, box.y1, box.x2, box.y2};
      for (std::size_t c = 0; c < 4; ++c) EXPECT_TRUE(close(corners[c], all["box"][n][c], twin_tolerance));
      for (std::size_t j = 0; j < J; ++j) {
        EXPECT_TRUE(close(model.class_probs(i, n)[j], all["prob"][n][j], twin_tolerance));
      }
      EXPECT_TRUE(close(model.weight(i, n), all["weight"][n], twin_tolerance));
    }
    for (const auto& [field, threshold] : {std::pair<const char*, double>{"aggregated_conf_0_3", 0.3},
                                           std::pair<const char*, double>{"aggregated_conf_0", 0.0}}) {
      const json& rows = step[field][i];
      std::size_t above = 0;
      for (std::size_t n = 0; n < model.num_objects(i); ++n) above += model.weight(i, n) > threshold;
      EXPECT_EQ(above, rows["prediction"].size()) << field << " image " << i;
      for (std::size_t r = 0; r < rows["prediction"].size(); ++r) {
        ASSERT_TRUE(row_of.count(rows["prediction"][r].get<int>()));
        const std::size_t n = row_of[rows["prediction"][r].get<int>()];
        const bdc::Box box = bdc::to_corners(model.object(i, n).box);
        const double corners[4] = {box.x1, box.y1, box.x2, box.y2};
        for (std::size_t c = 0; c < 4; ++c) EXPECT_NEAR(corners[c], rows["box"][r][c].get<double>(), 1e-6);
        for (std::size_t j = 0; j < J; ++j) {
          EXPECT_NEAR(model.class_probs(i, n)[j], rows["prob"][r][j].get<double>(), 2e-6);
        }
        EXPECT_NEAR(model.weight(i, n), rows["weight"][r].get<double>(), 1e-9);
      }
    }
  }
}

TEST(BdcReferenceGolden, ThreeStepsAgreeInEveryField) {
  const BdcGolden golden;
  for (const int threads : {1, 2}) {
    const auto model = bdc::make_reference_model(golden.crowd, bdc::reference_parameters());
    for (std::size_t s = 0; s < golden.file["steps"].size(); ++s) {
      SCOPED_TRACE("step " + std::to_string(s));
      run_and_compare(golden, *model, golden.predictions(s), golden.file["steps"][s], threads);
    }
  }
}

/// The stand-in predictions of the warm-up, from groups of annotations and the recorded noise.
TEST(BdcReferenceGolden, TheWarmUpStepAgreesInEveryField) {
  const BdcGolden golden;
  const json& warmup = golden.file["warmup"];
  std::vector<BdcGolden::Predictions> predictions(golden.crowd.images.size());
  for (std::size_t i = 0; i < golden.crowd.images.size(); ++i) {
    const bdc::ImageScale scale{static_cast<double>(golden.crowd.images[i].width),
                                static_cast<double>(golden.crowd.images[i].height)};
    std::vector<bdc::Box> boxes;
    std::vector<std::int32_t> labels, annotators;
    for (std::size_t a = golden.crowd.annotation_begin[i]; a < golden.crowd.annotation_begin[i + 1]; ++a) {
      boxes.push_back(bdc::normalised(golden.crowd.annotations[a].box, scale));
      labels.push_back(golden.crowd.annotations[a].label);
      annotators.push_back(golden.crowd.annotations[a].annotator);
    }
    bdc::Groups groups;
    bdc::group_by_best_overlap(boxes, annotators, golden.file["parameters"]["box_iou_thres"], groups);
    std::vector<double> noise;
    for (const json& group : warmup["noise"][i]) {
      for (const json& value : group) noise.push_back(value);
    }
    ASSERT_EQ(noise.size(), groups.size() * golden.J);
    bdc::group_consensus(groups, boxes, labels, golden.J, noise.data(), predictions[i].box, predictions[i].scores);

    const auto expected = BdcGolden::read_predictions(warmup["predictions"][i]);
    ASSERT_EQ(expected.box.size(), groups.size());
    for (std::size_t g = 0; g < groups.size(); ++g) {
      EXPECT_NEAR(predictions[i].box[g].x1, expected.box[g].x1, 1e-6);
      EXPECT_NEAR(predictions[i].box[g].y1, expected.box[g].y1, 1e-6);
      EXPECT_NEAR(predictions[i].box[g].x2, expected.box[g].x2, 1e-6);
      EXPECT_NEAR(predictions[i].box[g].y2, expected.box[g].y2, 1e-6);
    }
    for (std::size_t n = 0; n < expected.scores.size(); ++n) {
      EXPECT_NEAR(predictions[i].scores[n], expected.scores[n], 2e-6);
    }
    for (bdc::Box& box : predictions[i].box) box = bdc::scaled(box, scale);
  }
  const auto model = bdc::make_reference_model(golden.crowd, bdc::reference_parameters());
  run_and_compare(golden, *model, predictions, warmup["step"], 1);
}

TEST(BdcReferenceGolden, TargetsPassTheFilterOfTheOriginal) {
  const BdcGolden golden;
  const auto model = bdc::make_reference_model(golden.crowd, bdc::reference_parameters());
  bdc::BdcModel::Workspace workspace;
  const auto predictions = golden.predictions(0);
  for (std::size_t i = 0; i < predictions.size(); ++i) model->aggregate_image(i, predictions[i].view(), workspace);
  const bdc::Targets targets = model->targets();
  const json& expected = golden.file["steps"][0]["aggregated_conf_0_3"];
  for (std::size_t i = 0; i < predictions.size(); ++i) {
    EXPECT_EQ(targets.begin[i + 1] - targets.begin[i], expected[i]["prediction"].size());
  }
}

}  // namespace
