// Who is shown which images is often no accident: some people read the crowded images, others a pile of which most are
// empty.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "bdc/learn/bdc/absence_aware.h"

namespace {

using bdc::Box;
using bdc::CrowdData;

constexpr double kRecall = 0.75;

/// Images of three readers each: annotators 0 to 2 see those with many objects, two of three of which are crowded; 3 to
/// 8 see those of which six of seven are empty. at_random: anybody may see any image.
CrowdData reading_room(unsigned seed, int images, bool at_random) {
  constexpr int kReaders = 9, kClasses = 3;
  std::mt19937 rng(seed);
  const auto uniform = [&](double a, double b) { return std::uniform_real_distribution<double>(a, b)(rng); };
  const auto pick = [&](int low, int high) { return std::uniform_int_distribution<int>(low, high)(rng); };
  CrowdData crowd;
  for (int j = 0; j < kClasses; ++j) crowd.classes.push_back({{std::to_string(j), true}, "class " + std::to_string(j)});
  for (int k = 0; k < kReaders; ++k) crowd.annotators.push_back({{std::to_string(k), true}, std::to_string(k)});
  for (int i = 0; i < images; ++i) {
    crowd.images.push_back({{std::to_string(i), true}, "", 400, 400});
    const bool is_crowded = uniform(0, 1) < 0.5;
    std::vector<int> readers;
    for (int k = at_random || is_crowded ? 0 : 3; k < (at_random || !is_crowded ? kReaders : 3); ++k)
      readers.push_back(k);
    std::shuffle(readers.begin(), readers.end(), rng);
    readers.resize(3);
    for (const int k : readers) crowd.assignments.push_back({i, k});
    const auto box = [&] {
      const double w = uniform(30, 120), h = uniform(30, 120), x = uniform(0, 400 - w), y = uniform(0, 400 - h);
      return Box{x, y, x + w, y + h};
    };
    const bool is_empty = uniform(0, 1) < (is_crowded ? 1.0 / 3 : 6.0 / 7);
    for (int n = is_empty ? 0 : pick(1, is_crowded ? 7 : 2); n > 0; --n) {
      const Box b = box();
      const int label = pick(0, kClasses - 1);
      for (const int k : readers) {
        if (uniform(0, 1) >= kRecall) continue;
        const auto off = [&] { return std::normal_distribution<double>(0, 4)(rng); };
        crowd.annotations.push_back({{b.x1 + off(), b.y1 + off(), b.x2 + off(), b.y2 + off()},
                                     i,
                                     uniform(0, 1) < 0.8 ? label : pick(0, kClasses - 1),
                                     k});
      }
    }
    for (const int k : readers) {
      if (uniform(0, 1) < 0.04) crowd.annotations.push_back({box(), i, pick(0, kClasses - 1), k});
    }
  }
  crowd.assignments_known = true;
  crowd.finalize();
  return crowd;
}

TEST(Worklists, ThoseWhoAreShownMoreObjectsAreToldApart) {
  for (const unsigned seed : {1U, 2U, 3U}) {
    const std::vector<std::uint8_t> expected{1, 1, 1, 0, 0, 0, 0, 0, 0};
    EXPECT_EQ(bdc::initial_beliefs(reading_room(seed, 1200, false), false).worklist, expected) << seed;
  }
}

TEST(Worklists, AreOneWhereWhoSeesWhatIsChance) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    const std::vector<std::uint8_t> one(9, 0);
    EXPECT_EQ(bdc::initial_beliefs(reading_room(seed, 600, true), false).worklist, one) << seed;
  }
}

TEST(Worklists, ThoseWithFewImagesAreOne) {
  EXPECT_EQ(bdc::initial_beliefs(reading_room(5, 40, false), false).worklist, std::vector<std::uint8_t>(9, 0));
}

TEST(Worklists, InventionsInAPileOfEmptyImagesAreNotTakenForObjectsThatTheOthersMissed) {
  double off = 0;
  int readers = 0;
  for (const unsigned seed : {1U, 2U, 3U, 4U}) {
    const bdc::AbsenceAwareResult r = run_absence_aware(reading_room(seed, 2400, false), nullptr);
    for (std::size_t k = 3; k < 9; ++k, ++readers) off += r.beliefs.source[k].mean_recall() - kRecall;
  }
  EXPECT_NEAR(off / readers, 0, 0.04);
}

TEST(Worklists, NoUpdateLowersTheBound) {
  for (const unsigned seed : {1U, 2U}) {
    bdc::AbsenceAwareOptions options;
    options.max_rounds = 12;
    options.tolerance = 0;
    double last = -std::numeric_limits<double>::infinity();
    options.observer = [&](bdc::AbsenceAwareUpdate update, double bound) {
      if (update == bdc::AbsenceAwareUpdate::dependence) last = -std::numeric_limits<double>::infinity();
      EXPECT_GE(bound, last - 1e-9 * std::abs(bound)) << "update " << static_cast<int>(update) << ", seed " << seed;
      last = bound;
    };
    const bdc::AbsenceAwareResult r = run_absence_aware(reading_room(seed, 400, false), nullptr, options);
    EXPECT_EQ(r.beliefs.worklist[0], 1) << "both worklists must be at work";
  }
}

TEST(Worklists, TrainingImageByImageKnowsThemToo) {
  const CrowdData crowd = reading_room(6, 1500, false);
  bdc::AbsenceAwareBeliefs beliefs = run_absence_aware(crowd, nullptr).beliefs;
  bdc::AbsenceAwareEvidence evidence = empty_evidence(beliefs);
  for (std::size_t i = 0; i < crowd.images.size(); ++i) {
    (void)consensus_of_image(beliefs, labels_of_image(crowd, i), 0.05, &evidence);
  }
  for (const bdc::WorklistEvidence& seen : evidence.worklist) EXPECT_GT(seen.images, 500);
  update_beliefs(beliefs, evidence);
  EXPECT_GT(beliefs.priors.worklist[0].blank_share, beliefs.priors.worklist[1].blank_share + 0.3);
}

}  // namespace
