#include "bdc/metrics/calibration.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <stdexcept>

#include "bdc/base/error.h"

namespace {

TEST(Calibration, IsTheWeightedGapBetweenConfidenceAndHits) {
  // Bin [0.8, 1]: mean 0.9, all right; bin [0.2, 0.4): mean 0.3, none right.
  const std::vector<double> confidence{0.85, 0.95, 0.3, 0.3};
  const std::vector<char> correct{1, 1, 0, 0};
  const bdc::Calibration c = bdc::calibrate(confidence, correct, 5);
  EXPECT_NEAR(c.expected_error, 0.5 * 0.1 + 0.5 * 0.3, 1e-12);
  EXPECT_NEAR(c.largest_error, 0.3, 1e-12);
  EXPECT_EQ(c.bins[4].count, 2u);
  EXPECT_EQ(bdc::calibrate(std::vector<double>{1.0}, std::vector<char>{1}, 5).bins[4].count, 1u);
  EXPECT_NEAR(c.mean_confidence(), 0.6, 1e-12);
  EXPECT_NEAR(c.share_correct(), 0.5, 1e-12);
  const bdc::Calibration nothing = bdc::calibrate(std::vector<double>{}, std::vector<char>{}, 5);
  EXPECT_EQ(nothing.expected_error, 0);
  EXPECT_EQ(nothing.mean_confidence(), 0);
}

TEST(Calibration, HonestProbabilitiesHaveASmallError) {
  std::mt19937 rng(3);
  std::uniform_real_distribution<double> uniform(0, 1);
  std::vector<double> confidence;
  std::vector<char> correct;
  for (int n = 0; n < 50000; ++n) {
    confidence.push_back(uniform(rng));
    correct.push_back(uniform(rng) < confidence.back());
  }
  EXPECT_LT(bdc::calibrate(confidence, correct).expected_error, 0.01);
}

/// Images of one target each, said to exist with probability `said`; a share `so` of them do.
bdc::TargetCalibration calibrated(std::size_t images, double said, double so, int resamples, unsigned seed) {
  std::mt19937 rng(seed);
  std::uniform_real_distribution<double> uniform(0, 1);
  bdc::CrowdData crowd;
  bdc::Targets t;
  crowd.images.resize(images);
  crowd.classes.resize(2);
  crowd.has_truth = true;
  t.num_classes = 2;
  t.begin = {0};
  for (std::size_t i = 0; i < images; ++i) {
    const bool here = uniform(rng) < so;
    crowd.truth.push_back(
        {{here ? 0.0 : 50.0, 0, here ? 10.0 : 60.0, 10}, static_cast<std::int32_t>(i), 0, false, 100});
    t.box.push_back({0, 0, 10, 10});
    t.class_probs.insert(t.class_probs.end(), {1, 0});
    t.weight.push_back(said);
    t.score.push_back(said);
    t.existence.push_back(said);
    t.begin.push_back(t.box.size());
  }
  crowd.finalize();
  return bdc::calibrate_targets(t, crowd, 0.5, 15, {}, resamples);
}

TEST(Calibration, IntervalsHoldTheErrorOfManyImagesNineTimesOfTen) {
  constexpr double kSaid = 0.9, kSo = 0.75;
  int held = 0;
  double width = 0;
  for (unsigned seed = 0; seed < 200; ++seed) {
    const bdc::Calibration c = calibrated(100, kSaid, kSo, bdc::kErrorResamples, seed).existence;
    EXPECT_LE(c.error_low, c.error_high);
    held += c.error_low <= kSaid - kSo && kSaid - kSo <= c.error_high ? 1 : 0;
    width += (c.error_high - c.error_low) / 200;
  }
  EXPECT_GE(held, 165);
  EXPECT_LE(held, 195);
  EXPECT_NEAR(width, 2 * 1.645 * std::sqrt(kSo * (1 - kSo) / 100), 0.02);
}

TEST(Calibration, AnIntervalIsOnlyThereWhenAskedForAndTheSameEveryTime) {
  EXPECT_EQ(calibrated(50, 0.9, 0.7, 0, 1).existence.error_high, 0);
  const bdc::Calibration a = calibrated(50, 0.9, 0.7, 40, 1).existence, b = calibrated(50, 0.9, 0.7, 40, 1).existence;
  EXPECT_GT(a.error_high, a.error_low);
  EXPECT_EQ(a.error_low, b.error_low);
  EXPECT_EQ(a.error_high, b.error_high);
}

TEST(Calibration, RejectsWhatIsNoProbability) {
  EXPECT_THROW((void)bdc::calibrate(std::vector<double>{1.5}, std::vector<char>{1}), std::invalid_argument);
  EXPECT_THROW((void)bdc::calibrate(std::vector<double>{0.5}, std::vector<char>{}), std::invalid_argument);
  EXPECT_THROW((void)bdc::calibrate(std::vector<double>{0.5}, std::vector<char>{1}, 0), std::invalid_argument);
}

TEST(Calibration, TiesTargetsToObjectsOfAnyClassAndLeavesCrowdsOut) {
  bdc::CrowdData crowd;
  crowd.images.resize(1);
  crowd.classes.resize(2);
  crowd.truth = {{{0, 0, 10, 10}, 0, 0, false, 100}, {{50, 50, 90, 90}, 0, 0, true, 1600}};
  crowd.has_truth = true;
  crowd.finalize();
  bdc::Targets t;
  t.num_classes = 2;
  t.box = {{0, 0, 10, 10}, {0, 0, 9, 10}, {60, 60, 70, 70}};  // the object, a second box on it, inside the crowd
  t.class_probs = {0.3, 0.7, 0.9, 0.1, 1, 0};
  t.weight = t.score = {0.8, 0.6, 0.9};
  t.begin = {0, 3};
  const bdc::TargetCalibration c = bdc::calibrate_targets(t, crowd);
  EXPECT_EQ(c.existence.count, 2u);
  EXPECT_EQ(c.classes.count, 1u);
  EXPECT_NEAR(c.classes.expected_error, 0.7, 1e-12) << "class 1 with 0.7, but it is class 0";
  EXPECT_NEAR(c.existence.expected_error, 0.5 * 0.2 + 0.5 * 0.6, 1e-12);
  EXPECT_EQ(bdc::calibrate_targets(t, crowd, 0.5, 15, {0}).existence.count, 0u);
  crowd.has_truth = false;
  EXPECT_THROW((void)bdc::calibrate_targets(t, crowd), bdc::DataError);
}

}  // namespace
