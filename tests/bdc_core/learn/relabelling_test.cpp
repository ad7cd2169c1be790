#include "bdc/learn/relabelling.h"

#include <gtest/gtest.h>

#include <cmath>

namespace bdc {
namespace {

Targets one_target(double existence, std::vector<double> probs) {
  Targets t;
  t.num_classes = static_cast<int>(probs.size());
  t.box = {{10, 10, 30, 50}};
  t.class_probs = std::move(probs);
  t.weight = t.existence = t.score = {existence};
  t.begin = {0, 1};
  return t;
}

/// Sums over all outcomes, by Bayes' rule, with nothing clever.
double slow_gain(double e, const std::vector<double>& p, const NextAnnotator& a) {
  const std::size_t J = p.size();
  double now = 1 - e, then = (1 - e) * (1 - a.spurious);
  for (const double v : p) now = std::max(now, e * v), then = std::max(then, e * v * (1 - a.recall));
  for (std::size_t l = 0; l < J; ++l) {
    double best = (1 - e) * a.spurious / double(J);
    for (std::size_t j = 0; j < J; ++j) {
      best = std::max(best, e * p[j] * a.recall * (j == l ? a.accuracy : (1 - a.accuracy) / double(J - 1)));
    }
    then += best;
  }
  return then - now;
}

TEST(Relabelling, GainIsTheExpectedRiseOfTheBestDecision) {
  const NextAnnotator next{0.8, 0.2, 0.7, 0.1};
  for (const double e : {0.1, 0.3, 0.5, 0.62, 0.9}) {
    for (const auto& p : {std::vector<double>{0.5, 0.3, 0.2}, {0.34, 0.33, 0.33}, {0.05, 0.9, 0.05}}) {
      EXPECT_NEAR(relabelling_gain(one_target(e, p), 0, next), slow_gain(e, p, next), 1e-12) << e;
    }
  }
}

TEST(Relabelling, WhatIsCertainGainsNothing) {
  EXPECT_NEAR(relabelling_gain(one_target(1, {1, 0}), 0, {}), 0, 1e-12);
  EXPECT_NEAR(relabelling_gain(one_target(0, {0.5, 0.5}), 0, {}), 0, 1e-12);
}

TEST(Relabelling, AnAnnotatorWhoGuessesGainsNothing) {
  const NextAnnotator guesser{0.5, 0.5, 0.5, 0.1};
  EXPECT_NEAR(relabelling_gain(one_target(0.5, {0.5, 0.5}), 0, guesser), 0, 1e-12);
}

TEST(Relabelling, ASurerBoxIsAGainOfItsOwn) {
  Targets sure = one_target(1, {1.0}), unsure = sure;
  sure.box_std = {{0.01, 0.01, 0.01, 0.01}};
  unsure.box_std = {{4, 8, 4, 8}};
  EXPECT_LT(relabelling_gain(sure, 0, {}), 0.001);
  EXPECT_GT(relabelling_gain(unsure, 0, {}), 0.1);
}

TEST(Relabelling, OrderIsByGain) {
  Targets t = one_target(0.99, {1.0});
  const Targets doubtful = one_target(0.5, {1.0});
  append_image(doubtful, 0, t);
  const auto order = relabelling_order(t, {});
  ASSERT_EQ(order.size(), 2u);
  EXPECT_EQ(order[0].target, 1u);
  EXPECT_EQ(order[0].image, 1);
  EXPECT_GE(order[0].gain, order[1].gain);
}

/// One annotator with a box and a profile.
AnnotatorPosteriors posteriors(const std::string& profile) {
  AnnotatorPosteriors p;
  p.profile = profile;
  p.classes.resize(2);
  p.annotators.resize(1);
  p.annotators[0].annotations = 3;
  p.confusion.num_classes = 2;
  p.confusion.begin = {0, 0};
  return p;
}

TEST(Relabelling, TheMedianAnnotatorSaysWhatWasLearntAndWhatIsAssumed) {
  const NextAnnotator assumed;
  EXPECT_FALSE(assumed.recall_learnt || assumed.accuracy_learnt || assumed.box_noise_learnt);
  const NextAnnotator all = median_annotator(posteriors("absence_aware"));
  EXPECT_TRUE(all.recall_learnt && all.accuracy_learnt && all.box_noise_learnt);
  const AnnotatorPosteriors paper = posteriors("paper");
  const NextAnnotator some = median_annotator(paper);
  EXPECT_FALSE(some.recall_learnt);
  EXPECT_EQ(some.recall, assumed.recall);
  EXPECT_TRUE(some.accuracy_learnt && some.box_noise_learnt);
  EXPECT_EQ(some.accuracy, paper.accuracy(0));
  const auto precision = paper.box(0).precision();
  EXPECT_NEAR(some.box_noise, std::sqrt((1 / precision[2] + 1 / precision[3]) / 4), 1e-12);
  EXPECT_FALSE(median_annotator(posteriors("crowd_rcnn")).box_noise_learnt);
}

}  // namespace
}  // namespace bdc
