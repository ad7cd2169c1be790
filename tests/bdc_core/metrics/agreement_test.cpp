#include "bdc/metrics/agreement.h"

#include <gtest/gtest.h>

#include <cmath>

#include "bdc/learn/learners.h"
#include "support/random_crowd.h"

namespace {

TEST(KrippendorffAlpha, IsTheWorkedExampleOfNominalData) {
  // Four observers, twelve units, the reliability matrix used throughout the literature on alpha (nominal: 0.743).
  const std::vector<std::vector<std::int32_t>> units{{1, 1, 1},    {2, 2, 3, 2}, {3, 3, 3, 3}, {3, 3, 3, 3},
                                                     {2, 2, 2, 2}, {1, 2, 3, 4}, {4, 4, 4, 4}, {1, 1, 2, 1},
                                                     {2, 2, 2, 2}, {5, 5, 5},    {1, 1},       {3}};
  std::vector<std::int32_t> values;
  std::vector<std::size_t> begin{0};
  for (const auto& unit : units) {
    values.insert(values.end(), unit.begin(), unit.end());
    begin.push_back(values.size());
  }
  EXPECT_NEAR(bdc::krippendorff_alpha(values, begin, 6), 0.743, 5e-4);
}

TEST(KrippendorffAlpha, KnowsItsLimits) {
  const auto alpha = [](const std::vector<std::int32_t>& values, const std::vector<std::size_t>& begin) {
    return bdc::krippendorff_alpha(values, begin, 2);
  };
  EXPECT_EQ(alpha({0, 0, 1, 1}, {0, 2, 4}), 1);
  EXPECT_LT(alpha({0, 1, 1, 0}, {0, 2, 4}), 0);
  EXPECT_TRUE(std::isnan(alpha({0, 0, 0, 0}, {0, 2, 4}))) << "one class: nothing to disagree on";
  EXPECT_TRUE(std::isnan(alpha({0, 1}, {0, 1, 2}))) << "no unit with two values";
  EXPECT_TRUE(std::isnan(alpha({}, {0})));
}

TEST(Agreement, CountsAgainstTheConsensus) {
  bdc::CrowdData crowd;
  crowd.images.resize(2);
  for (auto& image : crowd.images) image.width = image.height = 100;
  crowd.classes.resize(2);
  crowd.annotators.resize(3);
  crowd.annotations = {{{10, 10, 30, 30}, 0, 0, 0}, {{10, 10, 30, 30}, 0, 1, 1}, {{70, 70, 90, 90}, 0, 0, 1}};
  crowd.assignments = {{0, 2}, {1, 0}};
  crowd.finalize();
  bdc::Targets consensus;
  consensus.num_classes = 2;
  consensus.box = {{10, 10, 30, 30}, {0, 0, 5, 5}};
  consensus.class_probs = {0.9, 0.1, 0.5, 0.5};
  consensus.weight = consensus.score = {1, 1};
  consensus.begin = {0, 1, 2};
  const bdc::Agreement a = bdc::measure_agreement(crowd, &consensus);
  EXPECT_EQ(a.groups, 2u);
  EXPECT_EQ(a.shared_groups, 1u);
  EXPECT_NEAR(a.mean_pairwise_iou, 1, 1e-12);
  EXPECT_EQ(a.annotators[0].matched, 1u);
  EXPECT_EQ(a.annotators[0].same_class, 1u);
  EXPECT_EQ(a.annotators[0].targets_seen, 2u);
  EXPECT_EQ(a.annotators[0].recall(), 0.5);
  EXPECT_EQ(a.annotators[1].same_class, 0u);
  EXPECT_EQ(a.annotators[1].precision(), 0.5);
  EXPECT_EQ(a.annotators[2].annotations, 0u);
  EXPECT_EQ(a.annotators[2].recall(), 0);
}

TEST(Agreement, SameBitsForAnyNumberOfThreads) {
  const RandomCrowd c(3, 700, 5, 4);
  bdc::FitInput input;
  input.crowd = &c.crowd;
  const bdc::Targets targets = bdc::make_learner("mv")->fit(input).targets;
  const bdc::Agreement one = bdc::measure_agreement(c.crowd, &targets, 0.45, 0.5, 1);
  const bdc::Agreement two = bdc::measure_agreement(c.crowd, &targets, 0.45, 0.5, 2);
  EXPECT_EQ(one.class_alpha, two.class_alpha);
  EXPECT_EQ(one.mean_pairwise_iou, two.mean_pairwise_iou);
  for (std::size_t k = 0; k < one.annotators.size(); ++k)
    EXPECT_EQ(one.annotators[k].mean_iou, two.annotators[k].mean_iou);
  EXPECT_GT(one.class_alpha, 0.2);
  EXPECT_LT(one.class_alpha, 0.8);
}

}  // namespace
