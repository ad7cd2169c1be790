#include "bdc/learn/online_bdc.h"

#include <gtest/gtest.h>

#include <cmath>

#include "bdc/base/error.h"
#include "bdc/metrics/aggregation_ap.h"
#include "random_crowd.h"

namespace {

using bdc::DetectedBoxes;
using bdc::OnlineBdcSettings;
using bdc::Targets;

class OnlineBdc : public ::testing::TestWithParam<const char*> {
 protected:
  static OnlineBdcSettings settings() {
    OnlineBdcSettings s;
    s.profile = GetParam();
    return s;
  }
};

DetectedBoxes detections(const RandomCrowd& data, std::size_t i) {
  const auto& p = data.predictions;
  const std::size_t first = p.begin[i], count = p.begin[i + 1] - first, J = data.crowd.classes.size();
  return {
      {p.box.data() + first, count}, {p.score.data() + first, count}, {p.class_probs.data() + first * J, count * J}};
}

Targets run_epoch(bdc::OnlineBdc& online, const RandomCrowd& data, std::size_t from, std::size_t to) {
  Targets all;
  for (std::size_t i = from; i < to; ++i) append_image(online.observe(i, detections(data, i)), 0, all);
  return all;
}

void expect_same_bits(const Targets& a, const Targets& b) {
  ASSERT_EQ(a.begin, b.begin);
  EXPECT_EQ(a.class_probs, b.class_probs);
  EXPECT_EQ(a.weight, b.weight);
  for (std::size_t n = 0; n < a.box.size(); ++n) {
    EXPECT_EQ(a.box[n].x1, b.box[n].x1);
    EXPECT_EQ(a.box[n].y2, b.box[n].y2);
  }
}

TEST_P(OnlineBdc, TargetsAreBoxesInsideTheImageWithClassVectorsAndWeights) {
  const RandomCrowd data(1, 40, 6, 4);
  const auto online = make_online_bdc(data.crowd, settings());
  for (int epoch = 0; epoch < 2; ++epoch) {
    for (std::size_t i = 0; i < data.crowd.images.size(); ++i) {
      const Targets t = online->observe(i, detections(data, i));
      ASSERT_EQ(t.begin.size(), 2U);
      ASSERT_EQ(t.class_probs.size(), t.box.size() * 4);
      for (std::size_t n = 0; n < t.box.size(); ++n) {
        EXPECT_TRUE(t.box[n].valid());
        EXPECT_GE(t.box[n].x1, 0);
        EXPECT_LE(t.box[n].x2, data.crowd.images[i].width);
        EXPECT_GT(t.weight[n], 0);
        EXPECT_LE(t.weight[n], 1);
        double sum = 0;
        for (std::size_t j = 0; j < 4; ++j) sum += t.class_probs[n * 4 + j];
        EXPECT_NEAR(sum, 1, 1e-6);
      }
    }
    EXPECT_TRUE(std::isfinite(online->finish_epoch()));
  }
}

TEST_P(OnlineBdc, AStateSavedInMidEpochGoesOnWithTheSameBits) {
  const RandomCrowd data(2, 30, 5, 3);
  const auto unbroken = make_online_bdc(data.crowd, settings());
  run_epoch(*unbroken, data, 0, 30);
  (void)unbroken->finish_epoch();
  run_epoch(*unbroken, data, 0, 11);
  const std::string state = unbroken->save();

  const auto resumed = make_online_bdc(data.crowd, settings());
  resumed->load(state);
  expect_same_bits(run_epoch(*unbroken, data, 11, 30), run_epoch(*resumed, data, 11, 30));
  EXPECT_EQ(unbroken->finish_epoch(), resumed->finish_epoch());
  expect_same_bits(run_epoch(*unbroken, data, 0, 30), run_epoch(*resumed, data, 0, 30));
  EXPECT_EQ(unbroken->save(), resumed->save());
}

TEST_P(OnlineBdc, AStateOfAnotherCrowdOrADamagedOneIsRefused) {
  const RandomCrowd data(3, 20, 5, 3), other(4, 25, 6, 3);
  const auto online = make_online_bdc(data.crowd, settings());
  const std::string state = online->save();
  EXPECT_THROW(make_online_bdc(other.crowd, settings())->load(state), std::invalid_argument);
  EXPECT_THROW(online->load(state.substr(0, state.size() / 2)), std::invalid_argument);
  EXPECT_THROW(online->load(state + "x"), std::invalid_argument);
  EXPECT_THROW(online->load(""), std::invalid_argument);
}

TEST_P(OnlineBdc, LabelsWithoutAnnotatorsAreRefused) {
  RandomCrowd data(6, 5, 2, 2);
  data.crowd.annotators.clear();
  data.crowd.annotations.clear();
  EXPECT_THROW((void)make_online_bdc(data.crowd, settings()), bdc::DataError);
}

INSTANTIATE_TEST_SUITE_P(Profiles, OnlineBdc, ::testing::Values("absence_aware", "paper", "reference"));

TEST(OnlineAbsenceAware, ADetectorThatSeesNothingDoesNotTakeObjectsAway) {
  const RandomCrowd data(7, 60, 6, 4);
  const auto online = make_online_bdc(data.crowd, {});
  for (int epoch = 0; epoch < 3; ++epoch) {
    Targets all;
    for (std::size_t i = 0; i < data.crowd.images.size(); ++i) append_image(online->observe(i, {}), 0, all);
    EXPECT_NEAR(static_cast<double>(all.box.size()), static_cast<double>(online->without_detector().box.size()),
                0.1 * static_cast<double>(all.box.size()));
    (void)online->finish_epoch();
  }
}

TEST(OnlineAbsenceAware, AGoodDetectorMakesTheConsensusBetter) {
  const RandomCrowd data(8, 200, 3, 4);
  const auto online = make_online_bdc(data.crowd, {});
  Targets last;
  double bound = 0;
  for (int epoch = 0; epoch < 4; ++epoch) {
    last = run_epoch(*online, data, 0, data.crowd.images.size());
    const double now = online->finish_epoch();
    if (epoch > 1) {
      EXPECT_GT(now, bound - 1e-6 * std::abs(bound));
    }
    bound = now;
  }
  EXPECT_GT(bdc::evaluate_targets(last, data.crowd).stats[0],
            bdc::evaluate_targets(online->without_detector(), data.crowd).stats[0]);
}

TEST(OnlineAbsenceAware, LearnsWhoIsCareless) {
  const RandomCrowd data(5, 150, 5, 3);  // annotator k's boxes get noisier with k
  const auto online = make_online_bdc(data.crowd, {});
  for (int epoch = 0; epoch < 3; ++epoch) {
    run_epoch(*online, data, 0, data.crowd.images.size());
    (void)online->finish_epoch();
  }
  const auto posteriors = online->posteriors();
  const auto noise = [&](std::size_t k) {
    const auto precision = posteriors.box(k).precision();
    return 1 / precision[0] + 1 / precision[1];
  };
  EXPECT_LT(noise(0), noise(4));
}

TEST(OnlineAbsenceAware, UnknownProfileIsNamed) {
  const RandomCrowd data(9, 5, 2, 2);
  OnlineBdcSettings settings;
  settings.profile = "bayes";
  try {
    (void)make_online_bdc(data.crowd, settings);
    FAIL();
  } catch (const std::invalid_argument& e) {
    EXPECT_NE(std::string(e.what()).find("'bayes'"), std::string::npos);
  }
}

}  // namespace
