// Many mix up the same classes: most people call a cat a dog, detectors of one kind take one class for another, some
// classes are hard for everybody.
#include <gtest/gtest.h>

#include <functional>
#include <random>
#include <string>
#include <vector>

#include "bdc/learn/bdc/absence_aware.h"
#include "bdc/metrics/calibration.h"

namespace {

using bdc::CrowdData;

/// By annotator and true class: the probabilities of labels, and of drawing an object of that class.
struct Habits {
  std::function<std::vector<double>(int annotator, int true_class)> labels;
  std::function<double(int annotator, int true_class)> recall = [](int, int) { return 0.95; };
};

/// Two objects far apart in every image, of classes in turn, which everybody looks at.
CrowdData crowd_with(const Habits& habits, int annotators, int classes, int images, unsigned seed) {
  std::mt19937 rng(seed);
  const auto off = [&] { return std::normal_distribution<double>(0, 2)(rng); };
  CrowdData crowd;
  crowd.has_truth = true;
  for (int j = 0; j < classes; ++j) crowd.classes.push_back({{std::to_string(j), true}, "class " + std::to_string(j)});
  for (int k = 0; k < annotators; ++k) crowd.annotators.push_back({{std::to_string(k), true}, std::to_string(k)});
  for (int i = 0; i < images; ++i) {
    crowd.images.push_back({{std::to_string(i), true}, "", 400, 400});
    for (int k = 0; k < annotators; ++k) crowd.assignments.push_back({i, k});
    for (int n = 0; n < 2; ++n) {
      const int truth = (2 * i + n) % classes;
      const bdc::Box box{40.0 + 200 * n, 60, 140.0 + 200 * n, 200};
      crowd.truth.push_back({box, i, truth, false, box.area()});
      for (int k = 0; k < annotators; ++k) {
        if (std::bernoulli_distribution(habits.recall(k, truth))(rng) == 0) continue;
        std::vector<double> p = habits.labels(k, truth);
        const int label = std::discrete_distribution<int>(p.begin(), p.end())(rng);
        crowd.annotations.push_back({{box.x1 + off(), box.y1 + off(), box.x2 + off(), box.y2 + off()}, i, label, k});
      }
    }
  }
  crowd.finalize();
  return crowd;
}

/// Right with this probability, otherwise any other class.
std::vector<double> mostly_right(int true_class, int classes, double right) {
  std::vector<double> p(static_cast<std::size_t>(classes), (1 - right) / (classes - 1));
  p[static_cast<std::size_t>(true_class)] = right;
  return p;
}

double share_of_right_classes(const CrowdData& crowd) {
  return calibrate_targets(run_absence_aware(crowd, nullptr).targets, crowd).classes.share_correct();
}

/// Twelve people take class 0 for class 1 nearly always; three experts do not, and are contradicted by all the others
/// on every object of class 0. That they contradict them on the same objects each time is what proves them right.
TEST(SharedConfusions, AFewWhoSeparateClassesThatMostTakeForOneAreBelieved) {
  constexpr int kClasses = 5, kExperts = 3;
  Habits habits;
  habits.labels = [](int k, int t) {
    if (k < kExperts) return mostly_right(t, kClasses, 0.95);
    return t == 0 ? std::vector<double>{0.1, 0.84, 0.02, 0.02, 0.02} : mostly_right(t, kClasses, 0.85);
  };
  double right = 0;
  for (const unsigned seed : {1U, 2U, 3U}) {
    right += share_of_right_classes(crowd_with(habits, kExperts + 12, kClasses, 150, seed)) / 3;
  }
  EXPECT_GT(right, 0.9) << "0.8 when class 0 is not found";
}

/// Classes 0 and 1 are named right by four and five people of ten, all others nearly always: a prior with the same odds
/// for every class takes the hard ones' labels for somebody's errors.
TEST(SharedConfusions, SomeClassesAreHardForEverybody) {
  constexpr int kClasses = 6, kPeople = 8;
  Habits habits;
  habits.labels = [](int, int t) {
    if (t == 0) return std::vector<double>{0.4, 0.1, 0.45, 0.05, 0, 0};
    if (t == 1) return std::vector<double>{0.05, 0.45, 0, 0, 0.5, 0};
    return mostly_right(t, kClasses, 0.92);
  };
  double right = 0;
  bdc::AbsenceAwareResult result;
  for (const unsigned seed : {1U, 2U, 3U}) {
    const CrowdData crowd = crowd_with(habits, kPeople, kClasses, 200, seed);
    result = run_absence_aware(crowd, nullptr);
    right += calibrate_targets(result.targets, crowd).classes.share_correct() / 3;
  }
  EXPECT_GT(right, 0.93);
  const std::vector<double>& ease = result.beliefs.priors.ease;
  for (std::size_t hard : {0U, 1U}) {
    for (std::size_t easy : {2U, 3U, 4U, 5U}) EXPECT_LT(2 * ease[hard], ease[easy]) << hard << " and " << easy;
  }
}

/// One of three finds class 2 nearly always, the others hardly ever, and then call it 1: the few objects of class 2
/// that can be compared would say that the first takes class 1 for 2. The many that nobody else drew say otherwise.
TEST(SharedConfusions, WhatOnePersonAloneFindsMayBeOfOtherClassesThanWhatAllFind) {
  constexpr int kClasses = 3;
  Habits habits;
  habits.labels = [](int k, int t) {
    return k > 0 && t == 2 ? std::vector<double>{0.05, 0.9, 0.05} : mostly_right(t, kClasses, 0.9);
  };
  habits.recall = [](int k, int t) { return k > 0 && t == 2 ? 0.08 : 0.95; };
  std::size_t objects = 0, right = 0;
  for (const unsigned seed : {1U, 2U, 3U}) {
    const CrowdData crowd = crowd_with(habits, 3, kClasses, 150, seed);
    const bdc::Targets targets = run_absence_aware(crowd, nullptr).targets;
    for (std::size_t i = 0; i < crowd.images.size(); ++i) {
      for (std::size_t g = crowd.truth_begin[i]; g < crowd.truth_begin[i + 1]; ++g) {
        if (crowd.truth[g].label != 2) continue;
        ++objects;
        for (std::size_t t = targets.begin[i]; t < targets.begin[i + 1]; ++t) {
          if (iou(targets.box[t], crowd.truth[g].box) > 0.5 && targets.label(t) == 2) {
            ++right;
            break;
          }
        }
      }
    }
  }
  EXPECT_GT(static_cast<double>(right), 0.6 * static_cast<double>(objects));
}

}  // namespace
