#include "bdc/metrics/coco_eval.h"

#include <gtest/gtest.h>

#include <limits>
#include <stdexcept>

#include "bdc/base/error.h"
#include "bdc/metrics/aggregation_ap.h"

namespace {

using bdc::CocoDetection;
using bdc::CocoTruth;

CocoTruth object(double x, double y, double side, int image = 0, bool crowd = false) {
  return {{x, y, side, side}, side * side, image, 0, crowd};
}

CocoDetection found(double x, double y, double side, double score, int image = 0) {
  return {{x, y, side, side}, score, image, 0};
}

double ap50(const std::vector<CocoDetection>& detections, const std::vector<CocoTruth>& truth) {
  bdc::CocoEvalOptions options;
  options.iou_thresholds = {0.5};
  return bdc::coco_evaluate(detections, truth, 2, 1, options).stats[0];
}

TEST(CocoEval, TheTruthItselfScoresOne) {
  EXPECT_NEAR(ap50({found(0, 0, 50, 0.9), found(100, 100, 40, 0.1, 1)}, {object(0, 0, 50), object(100, 100, 40, 1)}), 1,
              1e-12);
}

TEST(CocoEval, NothingFoundIsZeroAndNothingToFindIsUndefined) {
  EXPECT_EQ(ap50({}, {object(0, 0, 50)}), 0);
  EXPECT_EQ(ap50({found(0, 0, 50, 0.9)}, {}), -1);
}

TEST(CocoEval, AFalseDetectionRankedAboveTheHitHalvesThePrecision) {
  EXPECT_NEAR(ap50({found(200, 200, 50, 0.9), found(0, 0, 50, 0.5)}, {object(0, 0, 50)}), 0.5, 1e-12);
  EXPECT_NEAR(ap50({found(200, 200, 50, 0.4), found(0, 0, 50, 0.5)}, {object(0, 0, 50)}), 1, 1e-12);
}

TEST(CocoEval, ASecondDetectionOfOneObjectIsFalseButOfACrowdIsIgnored) {
  const std::vector<CocoDetection> twice{found(0, 0, 50, 0.9), found(0, 0, 50, 0.8), found(100, 0, 50, 0.7)};
  EXPECT_LT(ap50(twice, {object(0, 0, 50), object(100, 0, 50)}), 1);
  EXPECT_NEAR(ap50(twice, {object(0, 0, 50, 0, true), object(100, 0, 50)}), 1, 1e-12);
}

TEST(CocoEval, EqualScoresKeepTheOrderOfImages) {
  const CocoTruth truth = object(0, 0, 50, 0);
  EXPECT_NEAR(ap50({found(0, 0, 50, 0.5, 1), found(0, 0, 50, 0.5, 0)}, {truth}), 1, 1e-12);
  EXPECT_NEAR(ap50({found(0, 0, 50, 0.5, 0), found(0, 0, 50, 0.5, 1)}, {object(0, 0, 50, 1)}), 0.5, 1e-12);
}

TEST(CocoEval, RejectsWhatItCannotEvaluate) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THROW(ap50({found(0, 0, 50, nan)}, {}), std::invalid_argument);
  EXPECT_THROW(ap50({found(nan, 0, 50, 1)}, {}), std::invalid_argument);
  EXPECT_THROW(ap50({found(0, 0, 50, 1, 7)}, {}), std::invalid_argument);
  EXPECT_THROW(ap50({}, {object(0, 0, 50, -1)}), std::invalid_argument);
  bdc::CocoEvalOptions options;
  options.curve_ious = {0.42};
  EXPECT_THROW(bdc::coco_evaluate({}, {}, 1, 1, options), std::invalid_argument);
  options.curve_ious.clear();
  options.max_detections.clear();
  EXPECT_THROW(bdc::coco_evaluate({}, {}, 1, 1, options), std::invalid_argument);
}

bdc::CrowdData two_images_out_of_order() {
  bdc::CrowdData crowd;
  crowd.images = {{{"10", true}, "b.jpg", 100, 100}, {{"9", true}, "a.jpg", 100, 100}};
  crowd.classes = {{{"1", true}, "cat"}, {{"2", true}, "dog"}};
  crowd.truth = {{{0, 0, 50, 50}, 0, 1, false, 2500}, {{10, 10, 30, 30}, 1, 0, false, 400}};
  crowd.has_truth = true;
  crowd.finalize();
  return crowd;
}

bdc::Targets perfect_targets() {
  bdc::Targets targets;
  targets.num_classes = 2;
  targets.box = {{0, 0, 50, 50}, {10, 10, 30, 30}};
  targets.class_probs = {0.2, 0.8, 0.6, 0.4};
  targets.weight = targets.score = {0.5, 0.5};
  targets.begin = {0, 1, 2};
  return targets;
}

TEST(AggregationAp, ImagesRankByTheValueOfTheirId) {
  EXPECT_EQ(bdc::rank_by_id(two_images_out_of_order().images), (std::vector<std::int32_t>{1, 0}));
}

TEST(AggregationAp, TheMostProbableClassCounts) {
  EXPECT_NEAR(bdc::evaluate_targets(perfect_targets(), two_images_out_of_order()).stats[0], 1, 1e-12);
}

TEST(AggregationAp, ImagesThatAreNotEvaluatedDoNotCount) {
  bdc::Targets targets = perfect_targets();
  targets.box[1] = {60, 60, 90, 90};
  const bdc::CrowdData crowd = two_images_out_of_order();
  EXPECT_NEAR(bdc::evaluate_targets(targets, crowd).stats[0], 0.5, 1e-12);
  EXPECT_NEAR(bdc::evaluate_targets(targets, crowd, {}, {1, 0}).stats[0], 1, 1e-12);
}

TEST(AggregationAp, ImagesTheTruthDoesNotCoverDoNotCount) {
  bdc::CrowdData crowd = two_images_out_of_order();
  crowd.truth.pop_back();
  crowd.truth_covers = {1, 0};
  crowd.finalize();
  bdc::Targets targets = perfect_targets();
  targets.class_probs = {0.2, 0.8, 0.1, 0.9};  // on the image nobody looked at, a box of the same class
  targets.score = {0.4, 0.9};
  EXPECT_NEAR(bdc::evaluate_targets(targets, crowd).stats[0], 1, 1e-12);
  EXPECT_LT(bdc::evaluate_targets(targets, crowd, {}, {1, 1}).stats[0], 1);
}

TEST(AggregationAp, SaysWhatDoesNotFit) {
  bdc::CrowdData crowd = two_images_out_of_order();
  bdc::Targets targets = perfect_targets();
  EXPECT_THROW((void)bdc::evaluate_targets(targets, crowd, {}, {1}), bdc::DataError);
  targets.begin.pop_back();
  EXPECT_THROW((void)bdc::evaluate_targets(targets, crowd), bdc::DataError);
  crowd.has_truth = false;
  EXPECT_THROW((void)bdc::evaluate_targets(perfect_targets(), crowd), bdc::DataError);
}

}  // namespace
