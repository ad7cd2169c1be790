// Ranks that fit one crowd together: whatever their number, the result has the same bits.

#include "bdc/base/ranks.h"

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <sstream>
#include <string>

#include "bdc/learn/bdc/absence_aware.h"
#include "bdc/learn/learners.h"
#include "support/random_crowd.h"
#include "support/thread_ranks.h"

namespace {

using bdc::Ranks;
using bdc::Whole;
using bdc::test::ThreadRanks;

std::string bytes_of(const bdc::Targets& targets) {
  bdc::StateWriter state;
  bdc::save_targets(targets, state);
  return state.take();
}

/// All that a fit tells, bit for bit.
std::string bytes_of(const bdc::FitResult& result, bool with_targets) {
  std::ostringstream out;
  out.precision(17);
  if (with_targets) out << bytes_of(result.targets);
  if (result.posteriors) bdc::write_annotator_posteriors(out, *result.posteriors);
  for (const double bound : result.bound) out << bound << " ";
  for (const auto& warning : result.warnings) out << warning << "\n";
  if (result.dependence) {
    for (const auto& pair : result.dependence->pairs) out << pair.first << "~" << pair.second << " " << pair.share;
  }
  out << result.rounds << result.converged;
  return out.str();
}

/// Fits with 1 to 4 ranks (and one more number), and expects the same of each.
void expect_the_same_for_any_ranks(const std::string& learner, const bdc::FitInput& input) {
  const auto alone = bdc::make_learner_with(learner, {})->fit(input);
  const std::string whole = bytes_of(alone, true), learnt = bytes_of(alone, false);
  ASSERT_FALSE(alone.targets.box.empty());
  for (const int size : {2, 3, 4, 9}) {
    ThreadRanks(size).run([&](Ranks& ranks) {
      bdc::FitInput own = input;
      own.ranks = &ranks;
      const auto result = bdc::make_learner_with(learner, {})->fit(own);
      if (ranks.is_first()) {
        EXPECT_TRUE(bytes_of(result, true) == whole) << learner << ", " << size << " ranks";
      }
      EXPECT_TRUE(bytes_of(result, false) == learnt) << learner << ", rank " << ranks.rank() << " of " << size << "\n"
                                                     << bytes_of(result, false) << "\n"
                                                     << learnt;
    });
  }
}

class AnyLearner : public testing::TestWithParam<std::string> {};

TEST_P(AnyLearner, FitsWithTheSameBitsForAnyNumberOfRanks) {
  RandomCrowd data(3, 150, 6, 5);
  bdc::FitInput input;
  input.crowd = &data.crowd;
  input.threads = 2;
  expect_the_same_for_any_ranks(GetParam(), input);
  input.predictions = &data.predictions;
  expect_the_same_for_any_ranks(GetParam(), input);
}

TEST_P(AnyLearner, BeginsATrainingRunWithTheSameBitsInEveryRank) {
  const RandomCrowd data(4, 90, 5, 4);
  const auto alone = bdc::make_learner_with(GetParam(), {});
  alone->begin(data.crowd, 1);
  for (const int size : {2, 4}) {
    ThreadRanks(size).run([&](Ranks& ranks) {
      const auto learner = bdc::make_learner_with(GetParam(), {});
      learner->begin(data.crowd, 1, ranks);
      EXPECT_TRUE(bytes_of(learner->without_detector()) == bytes_of(alone->without_detector()));
      EXPECT_TRUE(learner->save() == alone->save());
    });
  }
}

INSTANTIATE_TEST_SUITE_P(Learners, AnyLearner, testing::ValuesIn([] {
                           std::vector<std::string> names;
                           for (const auto& entry : bdc::learners()) names.push_back(entry.info.name);
                           return names;
                         }()),
                         [](const auto& name) {
                           std::string out = name.param;
                           for (char& c : out) c = std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
                           return out;
                         });

constexpr const char* kModel = "absence_aware";

TEST(AbsenceAwareRanks, ManyClassesOfWhichEachBoxReachesAFew) {
  const RandomCrowd data(5, 120, 5, 60);
  bdc::FitInput input;
  input.crowd = &data.crowd;
  input.threads = 1;
  expect_the_same_for_any_ranks(kModel, input);
}

TEST(AbsenceAwareRanks, WhatIsKnownFromAnEarlierProject) {
  const RandomCrowd before(6, 60, 5, 40), data(7, 80, 5, 40);
  bdc::FitInput input;
  input.crowd = &before.crowd;
  const auto prior = bdc::make_learner_with(kModel, {})->fit(input).posteriors;
  input.crowd = &data.crowd;
  input.prior = &*prior;
  expect_the_same_for_any_ranks(kModel, input);
}

/// Where two annotators copy the labels of a third.
TEST(AbsenceAwareRanks, AnnotatorsWhoErrAlike) {
  RandomCrowd data(8, 400, 7, 4);
  std::mt19937 rng(1);
  for (std::size_t a = 0; a + 1 < data.crowd.annotations.size(); ++a) {
    bdc::Annotation &one = data.crowd.annotations[a], &next = data.crowd.annotations[a + 1];
    if (one.image == next.image && one.annotator >= 4 && next.annotator == one.annotator + 1) next.label = one.label;
  }
  bdc::FitInput input;
  input.crowd = &data.crowd;
  const auto alone = bdc::make_learner_with(kModel, {})->fit(input);
  ASSERT_TRUE(alone.dependence) << "the crowd should have a community";
  expect_the_same_for_any_ranks(kModel, input);
}

/// So many boxes that a part of the images is fitted first.
TEST(AbsenceAwareRanks, ACrowdThatIsFittedToASampleFirst) {
  const RandomCrowd data(9, 5000, 10, 3);
  ASSERT_GT(data.crowd.annotations.size(), 50'000U);
  bdc::AbsenceAwareOptions options;
  options.max_rounds = 3;
  const auto alone = bdc::run_absence_aware(data.crowd, nullptr, options);
  ThreadRanks(3).run([&](Ranks& ranks) {
    bdc::AbsenceAwareOptions own = options;
    own.ranks = &ranks;
    own.threads = 1;
    const auto result = bdc::run_absence_aware(data.crowd, nullptr, own);
    EXPECT_EQ(result.bound, alone.bound);
    EXPECT_EQ(result.evidence.confusion.value, alone.evidence.confusion.value);
    EXPECT_TRUE(bytes_of(result.targets) == (ranks.is_first() ? bytes_of(alone.targets) : bytes_of(result.targets)));
    EXPECT_EQ(result.targets.box.size(), ranks.is_first() ? alone.targets.box.size() : 0U);
  });
}

/// The ranks as a heterogeneous cluster: one of them gets sums that are a little different.
class RoundsDifferently : public bdc::test::ThreadRankOf<Ranks> {
 public:
  using ThreadRankOf::ThreadRankOf;
  void all_reduce_doubles(bdc::Span<double> bucket) override {
    ThreadRankOf::all_reduce_doubles(bucket);
    if (rank() == 1) {
      for (double& x : bucket) x *= 1 + 1e-15;
    }
  }
};

TEST(AbsenceAwareRanks, RanksThatComputeDifferentThingsSaySoAtOnce) {
  const RandomCrowd data(3, 150, 6, 5);
  bdc::test::ThreadRanksOf<RoundsDifferently>(2).run([&](Ranks& ranks) {
    bdc::AbsenceAwareOptions options;
    options.ranks = &ranks;
    options.max_rounds = 1;
    try {
      (void)bdc::run_absence_aware(data.crowd, nullptr, options);
      ADD_FAILURE() << "nothing was noticed";
    } catch (const std::runtime_error& e) {
      EXPECT_NE(std::string(e.what()).find("have computed different bounds"), std::string::npos) << e.what();
    }
  });
}

}  // namespace
