#include "bdc/learn/plan/look_plan.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <stdexcept>

#include "bdc/learn/learners.h"
#include "bdc/learn/plan/label_worth.h"
#include "bdc/learn/plan/place.h"
#include "bdc/learn/plan/unseen_objects.h"
#include "support/random_crowd.h"

namespace bdc {
namespace {

Targets one_target(double existence, std::vector<double> probs, double deviation = 0) {
  Targets t;
  t.num_classes = static_cast<int>(probs.size());
  t.box = {{10, 10, 30, 50}};
  t.class_probs = std::move(probs);
  t.weight = t.existence = t.score = {existence};
  if (deviation > 0) t.box_std = {{20 * deviation, 40 * deviation, 20 * deviation, 40 * deviation}};
  t.begin = {0, 1};
  return t;
}

Looker looker(double recall, double spurious, double accuracy, double noise) {
  Looker out;
  out.recall = recall;
  out.spurious = spurious;
  out.accuracy = accuracy;
  out.box_noise = noise;
  return out;
}

/// Sums over all outcomes of a look, by Bayes' rule, with every class told apart.
double slow_gain(double e, const std::vector<double>& p, const Looker& who, double spurious, double deviation) {
  const std::size_t J = p.size();
  const auto worth = [&](double absent, const std::vector<double>& mass, double spread) {
    double all = absent, best = 0;
    for (const double m : mass) {
      all += m;
      best = std::max(best, m);
    }
    const double right = all > 0 ? best / all * expected_box_share(spread) : 0;
    return all * right * right;
  };
  const double spread = 4 * deviation, other = 4 * who.box_noise;
  const double joined = spread > 0 && other > 0 ? 1 / std::sqrt(1 / (spread * spread) + 1 / (other * other)) : 0;
  std::vector<double> mass(J), missed(J);
  for (std::size_t j = 0; j < J; ++j) {
    mass[j] = e * p[j];
    missed[j] = mass[j] * (1 - who.recall);
  }
  double sum = worth((1 - e) * (1 - spurious), missed, spread) - worth(1 - e, mass, spread);
  for (std::size_t l = 0; l < J; ++l) {
    std::vector<double> drawn(J);
    for (std::size_t j = 0; j < J; ++j) {
      const double called = j == l ? who.accuracy : (1 - who.accuracy) / static_cast<double>(J - 1);
      drawn[j] = mass[j] * who.recall * called;
    }
    sum += worth((1 - e) * spurious / static_cast<double>(J), drawn, joined);
  }
  return sum;
}

TEST(Place, GainIsTheExpectedRiseOfItsWorth) {
  const Looker who = looker(0.8, 0.3, 0.7, 0.1);
  for (const double e : {0.1, 0.5, 0.62, 0.9}) {
    for (const double deviation : {0.0, 0.05, 0.2}) {
      for (const auto& p : {std::vector<double>{0.5, 0.3, 0.2}, {0.34, 0.33, 0.33}, {0.05, 0.9, 0.05}}) {
        const Place place(one_target(e, p, deviation), 0);
        EXPECT_NEAR(place.gain(who, 0.2), slow_gain(e, p, who, 0.2, deviation), 1e-12) << e << " " << deviation;
      }
    }
  }
}

TEST(Place, WhatIsCertainGainsNothingAndAGuesserBringsNothing) {
  EXPECT_NEAR(Place(one_target(1, {1, 0}), 0).gain(Looker(), 0.1), 0, 1e-12);
  EXPECT_NEAR(Place(one_target(0, {0.5, 0.5}), 0).gain(Looker(), 0.1), 0, 1e-12);
  EXPECT_NEAR(Place(one_target(0.5, {0.5, 0.5}), 0).gain(looker(0.5, 0, 0.5, 0.1), 0.5), 0, 1e-12);
}

TEST(Place, TheWorthOfAPlannedLookIsTheSumOfTheGains) {
  const Looker first = looker(0.8, 0.3, 0.7, 0.1), second = looker(0.9, 0.1, 0.8, 0.05);
  for (const std::size_t classes : {1U, 2U, 3U, 7U}) {
    std::vector<double> p(classes, 0.4 / static_cast<double>(classes));
    p[0] += 0.6;
    Place place(one_target(0.6, p, 0.1), 0);
    double worth = place.worth();
    EXPECT_NEAR(worth, label_worth(right_of(one_target(0.6, p, 0.1), 0)), 1e-12);
    worth += place.gain(first, 0.2);
    place.look(first, 0.2);
    EXPECT_NEAR(place.worth(), worth, 1e-12) << classes;
    const double again = place.gain(second, 0.1);
    place.look(second, 0.1);
    EXPECT_NEAR(place.worth(), worth + again, 1e-12) << classes;
    EXPECT_LT(place.worth(), 1);
  }
}

TEST(Place, ASecondLookAddsLessThanTheFirst) {
  const Looker who = looker(0.9, 0.1, 0.9, 0.05);
  Place place(one_target(0.5, {0.6, 0.4}, 0.1), 0);
  const double first = place.gain(who, 0.05);
  place.look(who, 0.05);
  EXPECT_LT(place.gain(who, 0.05), first / 2);
}

TEST(LabelWorth, BoxesWithoutErrorsAreInPlaceAndWiderErrorsAreWorse) {
  EXPECT_EQ(expected_box_share(0), 1);
  double last = 1;
  for (double spread = 0.05; spread < 4; spread += 0.05) {
    EXPECT_LE(expected_box_share(spread), last + 1e-12) << spread;
    last = expected_box_share(spread);
  }
  EXPECT_LT(last, 0.05);
}

/// A fitted crowd of which everybody has seen a part of the images.
struct Fitted {
  RandomCrowd random{5, 60, 6, 4};
  FitResult fit;
  Fitted() {
    CrowdData& crowd = random.crowd;
    crowd.annotations.erase(std::remove_if(crowd.annotations.begin(), crowd.annotations.end(),
                                           [](const Annotation& a) { return (a.image + a.annotator) % 3 == 0; }),
                            crowd.annotations.end());
    crowd.assignments.clear();
    for (std::int32_t i = 0; i < 60; ++i) {
      for (std::int32_t k = 0; k < 6; ++k) {
        if ((i + k) % 3 != 0) crowd.assignments.push_back({i, k});
      }
    }
    crowd.assignments_known = true;
    crowd.finalize();
    FitInput input;
    input.crowd = &crowd;
    fit = make_learner("absence_aware")->fit(input);
  }
  [[nodiscard]] LookPlan plan(double budget, const LookTerms& terms = {}, int threads = 0) const {
    PlanSettings settings;
    settings.budget = budget;
    settings.threads = threads;
    return plan_looks(random.crowd, fit.targets, &*fit.posteriors, terms, settings);
  }
};

TEST(LookPlan, AsksOnlyWhoMayForWhatTheyHaveNotSeenAndHaveTimeFor) {
  const Fitted f;
  LookTerms terms;
  terms.cost = {1, 2, 1, 1, 5, 1};
  terms.looks = {3, -1, 0, -1, -1, 2};
  for (std::int32_t i = 0; i < 60; i += 2) terms.excluded.push_back({i, 1});
  const LookPlan plan = f.plan(40, terms);
  ASSERT_FALSE(plan.looks.empty());
  std::vector<int> looks(6, 0), at_image(60, 0);
  std::set<std::pair<int, int>> pairs;
  double cost = 0;
  for (const PlannedLook& look : plan.looks) {
    EXPECT_EQ((look.image + look.annotator) % 3, 0) << "seen before";
    EXPECT_TRUE(pairs.insert({look.image, look.annotator}).second) << "asked twice";
    EXPECT_FALSE(look.annotator == 1 && look.image % 2 == 0) << "excluded";
    EXPECT_GT(look.gain, 0);
    EXPECT_EQ(look.cost, terms.cost[static_cast<std::size_t>(look.annotator)]);
    ++looks[static_cast<std::size_t>(look.annotator)];
    ++at_image[static_cast<std::size_t>(look.image)];
    cost += look.cost;
  }
  EXPECT_LE(looks[0], 3);
  EXPECT_EQ(looks[2], 0);
  EXPECT_LE(looks[5], 2);
  for (const int n : at_image) EXPECT_LE(n, 2);
  EXPECT_EQ(cost, plan.cost);
  EXPECT_LE(plan.cost, 40);
}

TEST(LookPlan, ASmallerBudgetIsTheBeginningOfALargerOne) {
  const Fitted f;
  const LookPlan small = f.plan(10), large = f.plan(25);
  ASSERT_EQ(small.looks.size(), 10u);
  ASSERT_EQ(large.looks.size(), 25u);
  for (std::size_t n = 0; n < small.looks.size(); ++n) {
    EXPECT_EQ(small.looks[n].image, large.looks[n].image);
    EXPECT_EQ(small.looks[n].annotator, large.looks[n].annotator);
  }
  for (std::size_t n = 1; n < large.looks.size(); ++n) {
    EXPECT_LE(large.looks[n].gain, large.looks[n - 1].gain + 1e-12) << "the best first, where all cost the same";
  }
}

TEST(LookPlan, TheSameForAnyNumberOfThreads) {
  const Fitted f;
  const LookPlan one = f.plan(30, {}, 1), three = f.plan(30, {}, 3);
  ASSERT_EQ(one.looks.size(), three.looks.size());
  for (std::size_t n = 0; n < one.looks.size(); ++n) {
    EXPECT_EQ(one.looks[n].image, three.looks[n].image);
    EXPECT_EQ(one.looks[n].annotator, three.looks[n].annotator);
    EXPECT_EQ(one.looks[n].gain, three.looks[n].gain);
  }
}

TEST(LookPlan, WhoErrsAlikeAddsLess) {
  Fitted f;
  f.fit.posteriors->alike.clear();
  const LookPlan before = f.plan(1);
  ASSERT_EQ(before.looks.size(), 1u);
  const std::int32_t chosen = before.looks[0].annotator;
  for (std::int32_t k = 0; k < 6; ++k) {
    if (k != chosen) f.fit.posteriors->alike.push_back({std::min(k, chosen), std::max(k, chosen), 1.0});
  }
  const LookPlan after = f.plan(1);
  EXPECT_NE(after.looks[0].annotator, chosen);
  EXPECT_LT(after.looks[0].gain, before.looks[0].gain);
}

TEST(LookPlan, RefusesWhatDoesNotFit) {
  const Fitted f;
  LookTerms terms;
  terms.cost = {1, 2};
  EXPECT_THROW((void)f.plan(5, terms), std::invalid_argument);
  terms.cost = {1, 1, 1, 1, 1, 0};
  EXPECT_THROW((void)f.plan(5, terms), std::invalid_argument);
  terms = {};
  terms.excluded = {{0, 9}};
  EXPECT_THROW((void)f.plan(5, terms), std::invalid_argument);
}

TEST(UnseenObjects, MoreWhereFewerLookedAndWhereMoreWasFound) {
  // Four images: two objects each in the first two, seen by one and by three; nothing in the others.
  CrowdData crowd;
  crowd.images.resize(4);
  crowd.classes.resize(1);
  crowd.annotators.resize(3);
  crowd.assignments = {{0, 0}, {1, 0}, {1, 1}, {1, 2}, {2, 0}};
  crowd.finalize();
  Targets targets;
  targets.num_classes = 1;
  targets.box.assign(4, {0, 0, 10, 10});
  targets.class_probs.assign(4, 1.0);
  targets.weight = targets.existence = targets.score = {1, 1, 1, 1};
  targets.begin = {0, 2, 4, 4, 4};
  const auto unseen = unseen_objects(crowd, targets, nullptr, 0.7);
  EXPECT_GT(unseen[0], 5 * unseen[1]);
  EXPECT_GT(unseen[0], unseen[2]);
  EXPECT_GT(unseen[3], unseen[2]) << "nobody has seen it";
}

TEST(PlacesWorthALook, DoubtfulOnesComeFirst) {
  Targets t = one_target(0.99, {1.0});
  append_image(one_target(0.5, {1.0}), 0, t);
  const auto order = places_worth_a_look(t, Looker());
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

TEST(Looker, TheMedianAnnotatorSaysWhatWasLearntAndWhatIsAssumed) {
  const Looker assumed;
  EXPECT_FALSE(assumed.recall_learnt || assumed.accuracy_learnt || assumed.box_noise_learnt);
  const Looker all = median_annotator(posteriors("absence_aware"));
  EXPECT_TRUE(all.recall_learnt && all.accuracy_learnt && all.box_noise_learnt);
  const AnnotatorPosteriors paper = posteriors("paper");
  const Looker some = median_annotator(paper);
  EXPECT_FALSE(some.recall_learnt);
  EXPECT_EQ(some.recall, assumed.recall);
  EXPECT_TRUE(some.accuracy_learnt && some.box_noise_learnt);
  EXPECT_EQ(some.accuracy, paper.accuracy(0));
  const auto precision = paper.box(0).precision();
  EXPECT_NEAR(some.box_noise, std::sqrt((1 / precision[2] + 1 / precision[3]) / 4), 1e-12);
  EXPECT_FALSE(median_annotator(posteriors("crowd_rcnn")).box_noise_learnt);
}

TEST(Looker, PeopleOfWhomLittleIsKnownAreTakenForTypical) {
  AnnotatorPosteriors p = posteriors("absence_aware");
  set_figure_priors(p);
  p.annotators.assign(9, p.annotators[0]);
  p.confusion.begin.assign(10, 0);
  for (std::size_t k = 0; k < 9; ++k) {
    const double images = k == 8 ? 4 : 400, recall = k == 8 ? 0.25 : k % 2 == 0 ? 0.6 : 0.9;
    p.annotators[k].images = p.annotators[k].judged = images;
    p.annotators[k].found = images * recall;
    p.annotators[k].missed = images * (1 - recall);
  }
  const auto people = lookers_of(p);
  EXPECT_NEAR(people[0].recall, 0.6, 0.03);
  EXPECT_NEAR(people[1].recall, 0.9, 0.03);
  EXPECT_GT(people[8].recall, 0.45) << "one of four says little";
}

}  // namespace
}  // namespace bdc
