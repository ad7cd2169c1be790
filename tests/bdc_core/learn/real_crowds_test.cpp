// Crowds as they are: empty images, people who only saw those, friends who err alike, evidence from elsewhere.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "bdc/learn/annotator_figures.h"
#include "bdc/learn/bdc/absence_aware.h"
#include "bdc/learn/learners.h"
#include "support/random_crowd.h"

namespace {

using bdc::AbsenceAwareOptions;
using bdc::AbsenceAwareResult;

std::unique_ptr<bdc::Learner> begun(const bdc::CrowdData& crowd) {
  auto learner = bdc::make_learner("absence_aware");
  learner->begin(crowd, 1);
  return learner;
}

void run_epoch(bdc::Learner& learner, const RandomCrowd& data) {
  for (std::size_t i = 0; i < data.crowd.images.size(); ++i) {
    (void)learner.observe(i, bdc::detections_of(&data.predictions, i));
  }
}

void add_images(bdc::CrowdData& crowd, std::size_t count) {
  for (std::size_t n = 0; n < count; ++n) {
    crowd.images.push_back(crowd.images.front());
    crowd.images.back().id = {"more " + std::to_string(n), false};
  }
}

double sum(const std::vector<double>& values) {
  double total = 0;
  for (const double v : values) total += v;
  return total;
}

TEST(RealCrowds, ImagesThatNobodySawSayNothing) {
  RandomCrowd data(31, 60, 5, 3);
  data.crowd.has_truth = false;
  data.crowd.truth.clear();
  data.crowd.truth_covers.clear();
  data.crowd.finalize();
  const AbsenceAwareResult before = run_absence_aware(data.crowd, nullptr);
  add_images(data.crowd, 600);
  data.crowd.finalize();
  const AbsenceAwareResult after = run_absence_aware(data.crowd, nullptr);
  ASSERT_EQ(after.targets.box.size(), before.targets.box.size());
  EXPECT_NEAR(sum(after.targets.existence), sum(before.targets.existence), 1e-6);
}

TEST(RealCrowds, WhoOnlySawEmptyImagesIsNotCalledBlindAndBlindsNobody) {
  RandomCrowd data(32, 60, 5, 3);
  data.crowd.has_truth = false;
  data.crowd.truth.clear();
  data.crowd.truth_covers.clear();
  data.crowd.annotators.push_back({{"screening", false}, ""});
  const std::size_t first = data.crowd.images.size();
  add_images(data.crowd, 300);
  for (std::size_t i = first; i < data.crowd.images.size(); ++i) {
    for (const std::int32_t k : {0, 1, 5}) data.crowd.assignments.push_back({static_cast<std::int32_t>(i), k});
  }
  data.crowd.assignments_known = true;
  data.crowd.finalize();
  bdc::FitInput input;
  input.crowd = &data.crowd;
  const bdc::FitResult result = bdc::make_learner("absence_aware")->fit(input);
  EXPECT_FALSE(recall_figure(*result.posteriors, 5).determined);
  EXPECT_FALSE(quality_figure(*result.posteriors, 5).determined);
  EXPECT_GT(recall_figure(*result.posteriors, 0).mean, 0.6);
}

/// Three readers with recall 0.65 who see the same 4,800 images, six of ten of them empty, and invent now and then.
/// Objects stand apart, so who drew what is plain. `drawn` tells of every object or invention who drew it.
struct ScreeningCrowd {
  bdc::CrowdData crowd;
  std::size_t lone = 0, lone_real = 0;
  explicit ScreeningCrowd(std::uint32_t seed) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<double> uniform(0, 1);
    std::normal_distribution<double> slip(0, 3);
    std::poisson_distribution<int> count(4), inventions(0.04);
    for (const char* name : {"a", "b", "c"}) crowd.annotators.push_back({{name, false}, ""});
    crowd.classes.push_back({{"0", false}, "thing"});
    for (std::int32_t i = 0; i < 4800; ++i) {
      crowd.images.emplace_back();
      crowd.images.back().id = {std::to_string(i), true};
      crowd.images.back().width = crowd.images.back().height = 1000;
      const int objects = uniform(random) < 0.4 ? count(random) : 0;
      int place = 0;  // of a grid of 5 x 5
      const auto draw = [&](std::int32_t k, int at) {
        const double x = 50 + 190 * (at % 5), y = 50 + 190 * (at / 5 % 5);
        crowd.annotations.push_back(
            {{x + slip(random), y + slip(random), x + 90 + slip(random), y + 90 + slip(random)}, i, 0, k});
      };
      for (int n = 0; n < objects; ++n, ++place) {
        std::vector<std::int32_t> who;
        for (std::int32_t k = 0; k < 3; ++k) {
          if (uniform(random) < 0.65) who.push_back(k);
        }
        for (const std::int32_t k : who) draw(k, place);
        if (who.size() == 1) ++lone, ++lone_real;
      }
      for (std::int32_t k = 0; k < 3; ++k) {
        crowd.assignments.push_back({i, k});
        for (int n = inventions(random); n > 0; --n, ++lone) draw(k, place++);
      }
    }
    crowd.assignments_known = true;
    crowd.finalize();
  }
};

TEST(RealCrowds, ManyEmptyImagesDoNotMakeInventionsOfBoxesThatOneReaderDrew) {
  for (const std::uint32_t seed : {1U, 2U}) {
    const ScreeningCrowd data(seed);
    const AbsenceAwareResult fit = run_absence_aware(data.crowd, nullptr);
    double said = 0, lone = 0;
    for (std::size_t n = 0; n < fit.targets.box.size(); ++n) {
      if (fit.targets.existence[n] > 0.999) continue;  // two of them drew it
      said += fit.targets.existence[n];
      lone += 1;
    }
    ASSERT_NEAR(lone, static_cast<double>(data.lone), 40);
    // It said 0.35 less when images without boxes counted as empty for the rates of the others.
    EXPECT_NEAR(said / lone, static_cast<double>(data.lone_real) / static_cast<double>(data.lone), 0.15);
  }
}

TEST(RealCrowds, ABoxInACrowdWithoutOverlapHasExactlyTheDocumentedProbability) {
  const RandomCrowd data(33, 40, 1, 4);
  AbsenceAwareOptions options;
  options.min_existence = 0;
  for (const double e : run_absence_aware(data.crowd, nullptr, options).targets.existence) {
    EXPECT_DOUBLE_EQ(e, bdc::kLoneBoxIsReal);
  }
}

TEST(RealCrowds, APriorThatKnowsNobodyChangesNothing) {
  const RandomCrowd data(34, 60, 5, 3);
  const AbsenceAwareResult without = run_absence_aware(data.crowd, nullptr);
  const bdc::AbsenceAwareEvidence nothing = empty_evidence(initial_beliefs(data.crowd, false));
  AbsenceAwareOptions options;
  options.prior_evidence = &nothing;
  const AbsenceAwareResult with = run_absence_aware(data.crowd, nullptr, options);
  ASSERT_EQ(with.targets.box.size(), without.targets.box.size());
  for (std::size_t n = 0; n < with.targets.box.size(); ++n) {
    EXPECT_NEAR(with.targets.box[n].x1, without.targets.box[n].x1, 1e-6);
    EXPECT_NEAR(with.targets.box[n].y2, without.targets.box[n].y2, 1e-6);
  }
}

TEST(RealCrowds, AnOffsetThatAllOfAnEarlierProjectShareIsNotTakenOver) {
  const RandomCrowd data(35, 60, 5, 3);
  bdc::AbsenceAwareEvidence earlier = run_absence_aware(data.crowd, nullptr).evidence, moved = earlier;
  for (bdc::SourceEvidence& s : moved.source) {
    for (std::size_t e = 0; e < 4; ++e) {
      s.square[e] += 0.5 * (0.5 * s.weight[e] + 2 * s.error[e]);
      s.error[e] += 0.5 * s.weight[e];
    }
  }
  AbsenceAwareOptions options;
  options.prior_evidence = &earlier;
  const AbsenceAwareResult a = run_absence_aware(data.crowd, nullptr, options);
  options.prior_evidence = &moved;
  const AbsenceAwareResult b = run_absence_aware(data.crowd, nullptr, options);
  double worst = 0;
  ASSERT_EQ(a.targets.begin.size(), b.targets.begin.size());
  for (std::size_t n = 0; n < std::min(a.targets.box.size(), b.targets.box.size()); ++n) {
    if (a.targets.existence[n] > 0.9) worst = std::max(worst, std::abs(a.targets.box[n].x1 - b.targets.box[n].x1));
  }
  EXPECT_LT(worst, 2) << "pixels; the offset was half a box";
}

/// Twelve annotators who see one object in each of 300 images; the first `friends` of them mostly repeat a rumour about
/// its class, wrong in 40 % of the images, and the others err alone.
bdc::CrowdData crowd_with_friends(std::int32_t friends, std::int32_t classes) {
  std::mt19937 rng(36);
  bdc::CrowdData crowd;
  crowd.classes.resize(static_cast<std::size_t>(classes));
  for (std::size_t j = 0; j < crowd.classes.size(); ++j) crowd.classes[j].id = {std::to_string(j), true};
  crowd.annotators.resize(12);
  for (std::size_t k = 0; k < 12; ++k) crowd.annotators[k].id = {std::to_string(k), true};
  const auto uniform = [&] { return std::uniform_real_distribution<double>(0, 1)(rng); };
  const auto any_class = [&] { return std::uniform_int_distribution<std::int32_t>(0, classes - 1)(rng); };
  for (std::int32_t i = 0; i < 300; ++i) {
    crowd.images.emplace_back();
    crowd.images.back().id = {std::to_string(i), true};
    crowd.images.back().width = 640;
    crowd.images.back().height = 480;
    const std::int32_t truth = any_class(), rumour = uniform() < 0.4 ? any_class() : truth;
    const double x = 400 * uniform(), y = 300 * uniform();
    for (std::int32_t k = 0; k < 12; ++k) {
      crowd.assignments.push_back({i, k});
      const std::int32_t own = uniform() < 0.3 ? any_class() : truth;
      const auto off = [&] { return std::normal_distribution<double>(0, 4)(rng); };
      const bool repeats = k < friends && uniform() < (friends == 12 ? 0.75 : 0.9);
      crowd.annotations.push_back(
          {{x + off(), y + off(), x + 100 + off(), y + 80 + off()}, i, repeats ? rumour : own, k});
    }
  }
  crowd.assignments_known = true;
  crowd.finalize();
  return crowd;
}

TEST(RealCrowds, ACrowdThatErrsAlikeAsAWholeIsSuspectedAndOneOfStrangersIsNot) {
  for (const std::int32_t classes : {8, 50}) {
    const auto suspected = [&](std::int32_t friends) {
      return run_absence_aware(crowd_with_friends(friends, classes), nullptr).dependence.one_voice;
    };
    EXPECT_TRUE(suspected(12)) << classes;
    EXPECT_FALSE(suspected(0)) << classes;
  }
}

TEST(RealCrowds, FriendsWhoErrAlikeAreFoundAndCountLess) {
  const bdc::CrowdData crowd = crowd_with_friends(5, 6);
  AbsenceAwareOptions options;
  options.threads = 1;
  double last = -std::numeric_limits<double>::infinity();
  bool weighed = false;
  options.observer = [&](bdc::AbsenceAwareUpdate update, double bound) {
    if (update == bdc::AbsenceAwareUpdate::dependence) {
      weighed = true;
    } else {
      EXPECT_GE(bound, last - 1e-9 * std::abs(bound)) << "update " << static_cast<int>(update);
    }
    last = bound;
  };
  const AbsenceAwareResult r = run_absence_aware(crowd, nullptr, options);
  EXPECT_TRUE(weighed);
  ASSERT_EQ(r.dependence.community.size(), 12U);
  for (std::size_t k = 0; k < 12; ++k) EXPECT_EQ(r.dependence.community[k], k < 5 ? 0 : -1) << k;
  EXPECT_FALSE(r.dependence.one_voice);
}

TEST(RealCrowds, ALargeCrowdThatStartsFromAPartOfItsImagesHasTheSameBitsForAnyNumberOfThreads) {
  const RandomCrowd data(37, 8000, 8, 4);
  ASSERT_GT(data.crowd.annotations.size(), 60'000U);
  AbsenceAwareOptions options;
  options.max_rounds = 4;
  options.threads = 1;
  double last = -std::numeric_limits<double>::infinity();
  std::size_t falls = 0;
  options.observer = [&](bdc::AbsenceAwareUpdate, double bound) {
    falls += bound < last - 1e-9 * std::abs(last) ? 1 : 0;
    last = bound;
  };
  const AbsenceAwareResult one = run_absence_aware(data.crowd, nullptr, options);
  EXPECT_EQ(falls, 0U);
  options.observer = nullptr;
  options.threads = 3;
  const AbsenceAwareResult three = run_absence_aware(data.crowd, nullptr, options);
  EXPECT_EQ(one.bound, three.bound);
  EXPECT_EQ(one.targets.existence, three.targets.existence);
  EXPECT_EQ(one.targets.class_probs, three.targets.class_probs);
}

TEST(RealCrowds, AnEpochWithoutImagesForgetsNothing) {
  const RandomCrowd data(37, 40, 5, 3);
  const auto learner = begun(data.crowd);
  run_epoch(*learner, data);
  (void)learner->finish_epoch();
  const std::string before = learner->save();
  (void)learner->finish_epoch();
  EXPECT_EQ(learner->save(), before);
}

TEST(RealCrowds, ACutStateLeavesTheLearnerAsItWas) {
  const RandomCrowd data(38, 40, 5, 3);
  const auto learner = begun(data.crowd), other = begun(data.crowd);
  run_epoch(*other, data);
  (void)other->finish_epoch();
  const std::string before = learner->save(), state = other->save();
  for (const std::size_t size : {state.size() / 4, state.size() / 2, state.size() - 1}) {
    EXPECT_THROW(learner->load(state.substr(0, size)), std::invalid_argument);
    EXPECT_EQ(learner->save(), before) << size;
  }
}

}  // namespace
