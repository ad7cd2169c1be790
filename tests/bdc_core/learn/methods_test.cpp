#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <numeric>
#include <stdexcept>

#include "bdc/base/error.h"
#include "bdc/learn/learners.h"
#include "support/random_crowd.h"

namespace {

bdc::FitInput input_of(const RandomCrowd& c, bool with_predictions, int threads = 1) {
  bdc::FitInput input;
  input.crowd = &c.crowd;
  if (with_predictions) input.predictions = &c.predictions;
  input.threads = threads;
  return input;
}

void expect_same(const bdc::Targets& a, const bdc::Targets& b) {
  EXPECT_EQ(a.begin, b.begin);
  EXPECT_EQ(a.box, b.box);
  EXPECT_EQ(a.class_probs, b.class_probs);
  EXPECT_EQ(a.hard_label, b.hard_label);
  EXPECT_EQ(a.weight, b.weight);
  EXPECT_EQ(a.score, b.score);
}

/// Every method, with every choice of the option it is compared by.
std::vector<std::pair<std::string, std::map<std::string, std::string>>> all_methods() {
  std::vector<std::pair<std::string, std::map<std::string, std::string>>> all;
  for (const bdc::MethodInfo& method : bdc::methods()) {
    if (method.compared_by.empty()) all.push_back({method.name, {}});
    for (const bdc::OptionSpec& option : method.options) {
      if (option.name != method.compared_by) continue;
      for (const std::string& choice : option.choices) all.push_back({method.name, {{option.name, choice}}});
    }
  }
  return all;
}

std::vector<std::string> bdc_profiles() {
  std::vector<std::string> out;
  for (const bdc::LearnerEntry& entry : bdc::learners()) {
    if (entry.info.profile_of == "bdc") out.push_back(entry.info.name);
  }
  return out;
}

class EveryMethod : public ::testing::TestWithParam<unsigned> {};

TEST_P(EveryMethod, GivesValidTargetsWithTheSameBitsForAnyNumberOfThreads) {
  const RandomCrowd c(GetParam(), 150, 6, 5);
  for (const auto& [name, options] : all_methods()) {
    SCOPED_TRACE(name);
    const auto method = bdc::make_learner(name, options);
    for (const bool with_predictions : {false, true}) {
      const bdc::FitResult result = method->fit(input_of(c, with_predictions));
      const bdc::Targets& t = result.targets;
      ASSERT_EQ(t.begin.size(), c.crowd.images.size() + 1);
      ASSERT_EQ(t.begin.back(), t.box.size());
      if (t.hard_label.empty()) {
        ASSERT_EQ(t.class_probs.size(), t.box.size() * c.crowd.classes.size());
      } else {
        ASSERT_EQ(t.hard_label.size(), t.box.size());
        ASSERT_TRUE(t.class_probs.empty());
      }
      EXPECT_GT(t.box.size(), 0u);
      for (std::size_t n = 0; n < t.box.size(); ++n) {
        EXPECT_TRUE(t.box[n].valid());
        EXPECT_GE(t.weight[n], 0);
        EXPECT_LE(t.weight[n], 1);
        EXPECT_TRUE(std::isfinite(t.score[n]));
        double sum = 0;
        for (std::size_t j = 0; j < c.crowd.classes.size(); ++j) sum += t.class_prob(n, j);
        EXPECT_NEAR(sum, 1, 1e-9);
        EXPECT_GE(t.class_prob(n, static_cast<std::size_t>(t.label(n))), 1.0 / 5);
      }
      for (const int threads : {2, 3}) {
        const bdc::FitResult other = method->fit(input_of(c, with_predictions, threads));
        expect_same(t, other.targets);
        EXPECT_EQ(result.bound, other.bound);
        if (result.posteriors) {
          EXPECT_EQ(result.posteriors->confusion.value, other.posteriors->confusion.value);
        }
      }
    }
  }
}

TEST_P(EveryMethod, NeverLooksAtTheTruth) {
  const RandomCrowd c(GetParam(), 30, 6, 5);
  RandomCrowd blind = c;
  for (bdc::TruthBox& t : blind.crowd.truth) t.box = {0, 0, 1, 1};
  for (const auto& [name, options] : all_methods()) {
    SCOPED_TRACE(name);
    const auto method = bdc::make_learner(name, options);
    expect_same(method->fit(input_of(c, false)).targets, method->fit(input_of(blind, false)).targets);
  }
}

TEST(Targets, HardLabelsAndClassVectorsAreTwoFormsOfOneThing) {
  bdc::Targets hard;
  hard.num_classes = 3;
  hard.box = {{0, 0, 1, 1}, {0, 0, 2, 2}};
  hard.weight = hard.score = {1, 1};
  hard.hard_label = {2, 0};
  hard.begin = {0, 1, 2};
  bdc::Targets soft = hard;
  soft.make_class_vectors();
  EXPECT_EQ(soft.class_probs, (std::vector<double>{0, 0, 1, 1, 0, 0}));
  EXPECT_TRUE(soft.hard_label.empty());
  for (std::size_t n = 0; n < 2; ++n) {
    EXPECT_EQ(hard.label(n), soft.label(n));
    for (std::size_t j = 0; j < 3; ++j) EXPECT_EQ(hard.class_prob(n, j), soft.class_prob(n, j));
  }
  bdc::Targets mixed;
  append_image(hard, 0, mixed);
  append_image(soft, 1, mixed);
  EXPECT_EQ(mixed.class_probs, soft.class_probs);
  bdc::Targets other;
  append_image(soft, 0, other);
  append_image(hard, 1, other);
  EXPECT_EQ(other.class_probs, soft.class_probs);
}

INSTANTIATE_TEST_SUITE_P(Seeds, EveryMethod, ::testing::Values(1u, 2u, 3u));

TEST(EveryMethodTable, WorksOnACrowdThatDrewNothing) {
  RandomCrowd c(1, 5, 3, 2);
  c.crowd.annotations.clear();
  c.crowd.finalize();
  for (const auto& [name, options] : all_methods()) {
    SCOPED_TRACE(name);
    EXPECT_TRUE(bdc::make_learner(name, options)->fit(input_of(c, false)).targets.box.empty());
  }
}

TEST(MethodTable, NamesTheNearestMethodOptionOrChoice) {
  const auto message = [](const std::string& name, const std::map<std::string, std::string>& options) {
    try {
      (void)bdc::make_learner(name, options);
    } catch (const std::invalid_argument& error) {
      return std::string(error.what());
    }
    return std::string("no error");
  };
  EXPECT_NE(message("mw", {}).find("did you mean 'mv'"), std::string::npos);
  EXPECT_NE(message("mv", {{"bx", "union"}}).find("did you mean 'box'"), std::string::npos);
  EXPECT_NE(message("mv", {{"box", "onion"}}).find("expected one of union, intersect"), std::string::npos);
  EXPECT_NE(message("mv", {{"iou", "half"}}).find("expected a number from 0 to 1, found the string \"half\""),
            std::string::npos);
  EXPECT_NE(message("mv", {{"iou", "1.5"}}).find("expected a number from 0"), std::string::npos);
  EXPECT_NE(message("bdc", {{"profile", "papper"}}).find("expected one of absence_aware, reference, paper"),
            std::string::npos);
  EXPECT_NE(message("bdc", {{"max_rounds", "2.5"}}).find("bdc.max_rounds: expected a whole number from"),
            std::string::npos);
  EXPECT_EQ(message("bdc", {{"profile", "paper"}, {"min_weight", "0.1"}})
                .rfind("bdc.min_weight: belongs to profile "
                       "reference; paper has ",
                       0),
            0U);
  EXPECT_NE(message("bdc", {{"foo", "1"}}).find("bdc.foo: unknown option; known: profile, "), std::string::npos);
  EXPECT_EQ(message("bdc", {{"foo", "1"}}).find("min_weight"), std::string::npos) << "an option of another profile";
  EXPECT_NE(message("na", {{"iou", "1"}}).find("na.iou: unknown option; there are none"), std::string::npos);
  EXPECT_NE(message("wbf-earl", {{"annotator_weights", "2:1,1:3"}}).find("rising ends"), std::string::npos);
  EXPECT_EQ(message("wbf-earl", {{"annotator_weights", "2:1.5,7:0.3"}}), "no error");
}

bdc::CrowdData one_image(const std::vector<bdc::Box>& boxes) {
  bdc::CrowdData crowd;
  crowd.images.resize(1);
  crowd.classes.resize(1);
  crowd.annotators.resize(boxes.size());
  for (std::size_t k = 0; k < boxes.size(); ++k) crowd.annotations.push_back({boxes[k], 0, 0, static_cast<int>(k)});
  crowd.finalize();
  return crowd;
}

bdc::FitResult vote(const bdc::CrowdData& crowd, const std::map<std::string, std::string>& options) {
  bdc::FitInput input;
  input.crowd = &crowd;
  return bdc::make_learner("mv", options)->fit(input);
}

TEST(MajorityVoteMethod, WhereTheCommonPartIsEmptyTheBoxIsTheAverage) {
  // The last box meets two of the first three, enough to join their group, but not the first.
  const bdc::CrowdData crowd = one_image({{0, 0, 10, 10}, {5, 0, 20, 10}, {6, 0, 22, 10}, {12, 0, 25, 10}});
  const auto result = vote(crowd, {{"box", "intersect"}, {"iou", "0.05"}});
  ASSERT_EQ(result.targets.box.size(), 1u);
  EXPECT_EQ(result.targets.box[0], (bdc::Box{6, 0, 19, 10}));
  ASSERT_EQ(result.warnings.size(), 1u);
  EXPECT_NE(result.warnings[0].find("1 groups have an empty box by the rule \"intersect\""), std::string::npos);
}

TEST(MajorityVoteMethod, WhereNoPixelHasAMajorityTheBoxIsTheAverage) {
  // In whole pixels the two boxes only touch; on a grid of tenths they share a strip.
  const bdc::CrowdData crowd = one_image({{0, 0, 10, 4.2}, {0, 3.9, 10, 8.2}});
  const auto whole = vote(crowd, {{"box", "majority"}, {"iou", "0.01"}});
  ASSERT_EQ(whole.targets.box.size(), 1u);
  EXPECT_EQ(whole.targets.box[0], (bdc::Box{0, 2, 10, 6}));
  ASSERT_EQ(whole.warnings.size(), 1u);
  EXPECT_NE(whole.warnings[0].find("1 groups have no pixel"), std::string::npos);
  const auto tenths = vote(crowd, {{"box", "majority"}, {"iou", "0.01"}, {"resolution", "10"}});
  EXPECT_TRUE(tenths.warnings.empty());
  EXPECT_NEAR(tenths.targets.box[0].y1, 3.9, 1e-12);
  EXPECT_NEAR(tenths.targets.box[0].y2, 4.2, 1e-12);
}

TEST(BdcMethod, SettlesAndSaysSo) {
  const RandomCrowd c(5, 60, 6, 5);
  for (const std::string& profile : bdc_profiles()) {
    const auto result = bdc::make_learner("bdc", {{"profile", profile}})->fit(input_of(c, false));
    EXPECT_TRUE(result.converged) << profile;
    ASSERT_TRUE(result.posteriors.has_value());
    EXPECT_EQ(result.posteriors->profile, profile);
    EXPECT_EQ(result.posteriors->annotators.size(), c.crowd.annotators.size());
    EXPECT_EQ(result.bound.size(), static_cast<std::size_t>(result.rounds));
    const auto again = bdc::make_learner("bdc", {{"profile", profile}, {"max_rounds", "1"}})->fit(input_of(c, false));
    EXPECT_FALSE(again.converged) << profile;
    EXPECT_FALSE(again.warnings.empty());
  }
}

TEST(BdcMethod, ProgressMayStopTheWork) {
  const RandomCrowd c(5, 60, 6, 5);
  bdc::FitInput input = input_of(c, false);
  int calls = 0;
  input.progress = [&](const bdc::Progress&) {
    if (++calls == 2) throw std::runtime_error("stop");
  };
  EXPECT_THROW((void)bdc::make_learner("bdc", {{"profile", "reference"}})->fit(input), std::runtime_error);
  EXPECT_EQ(calls, 2);
}

/// Every number among the options of every learner.
TEST(Methods, AbsurdNumbersAreRefusedByName) {
  int tried = 0;
  for (const bdc::LearnerEntry& learner : bdc::learners()) {
    for (const bdc::OptionSpec& option : learner.info.options) {
      if (std::holds_alternative<std::string>(option.default_value)) continue;
      for (const char* absurd : {"-1e30", "1e30", "nan", "inf", "many", "1 2"}) {
        try {
          (void)bdc::make_learner(learner.info.name, {{option.name, absurd}});
          ADD_FAILURE() << learner.info.name << ": " << option.name << "=" << absurd;
        } catch (const std::invalid_argument& error) {
          EXPECT_NE(std::string(error.what()).find(option.name), std::string::npos) << error.what();
        }
      }
      ++tried;
    }
  }
  EXPECT_GT(tried, 10);
}

TEST(BdcMethod, RejectsPredictionsAndPriorsThatDoNotFit) {
  RandomCrowd c(5, 10, 6, 5);
  const auto method = bdc::make_learner("bdc", {{"profile", "reference"}});
  bdc::AnnotatorPosteriors prior =
      *bdc::make_learner("bdc", {{"profile", "paper"}})->fit(input_of(c, false)).posteriors;
  bdc::FitInput input = input_of(c, true);
  input.prior = &prior;
  EXPECT_THROW((void)method->fit(input), bdc::DataError);
  c.predictions.begin.pop_back();
  EXPECT_THROW((void)method->fit(input_of(c, true)), bdc::DataError);
  c.crowd.annotations[0].box = {5, 5, 5, 5};
  EXPECT_THROW((void)method->fit(input_of(c, false)), bdc::DataError);
}

}  // namespace
