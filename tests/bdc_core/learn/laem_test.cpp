// laem and em-wbf: places against all combinations, expectation maximisation against a dense one, and the whole.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>

#include "bdc/learn/learners.h"
#include "bdc/learn/simple/agreement_groups.h"
#include "bdc/learn/simple/dawid_skene.h"
#include "support/random_crowd.h"

namespace {

using bdc::Box;
using bdc::ClassVote;

TEST(AgreementGroups, ShareIsTheCommonPartOfTheBoxAroundAll) {
  const std::vector<Box> boxes{{0, 0, 10, 10}, {5, 0, 15, 10}};
  EXPECT_DOUBLE_EQ(bdc::common_share(boxes), 50.0 / 150);
  EXPECT_DOUBLE_EQ(bdc::common_share(std::vector<Box>{{0, 0, 1, 1}, {1, 0, 2, 1}}), 0);
  EXPECT_DOUBLE_EQ(bdc::common_share(std::vector<Box>{{3, 3, 7, 9}}), 1);
}

/// The definition, without any shortcut: subsets of boxes as bits.
std::vector<std::vector<std::int32_t>> by_all_subsets(const std::vector<Box>& boxes,
                                                      const std::vector<std::int32_t>& annotators, std::size_t looked,
                                                      double threshold) {
  std::vector<std::vector<std::int32_t>> groups;
  unsigned used = 0;
  for (std::size_t n = looked; n >= 1 && 2 * n >= looked; --n) {
    std::vector<std::pair<double, std::vector<std::int32_t>>> found;
    for (unsigned bits = 1; bits < (1u << boxes.size()); ++bits) {
      if ((bits & used) != 0) continue;
      std::vector<std::int32_t> members;
      std::vector<Box> chosen;
      std::map<std::int32_t, int> people;
      for (std::size_t b = 0; b < boxes.size(); ++b) {
        if ((bits >> b & 1u) == 0) continue;
        members.push_back(static_cast<std::int32_t>(b));
        chosen.push_back(boxes[b]);
        ++people[annotators[b]];
      }
      if (members.size() != n || people.size() != n) continue;
      const double share = bdc::common_share(chosen);
      if (n == 1 || (share > 0 && share >= threshold)) found.emplace_back(-share, members);
    }
    std::sort(found.begin(), found.end());
    for (const auto& [share, members] : found) {
      unsigned bits = 0;
      for (const std::int32_t b : members) bits |= 1u << b;
      if ((bits & used) != 0) continue;
      used |= bits;
      groups.push_back(members);
    }
  }
  return groups;
}

class AgreementGroupsOnRandomBoxes : public ::testing::TestWithParam<unsigned> {};

TEST_P(AgreementGroupsOnRandomBoxes, AreThoseOfAllSubsets) {
  std::mt19937 rng(GetParam());
  std::uniform_real_distribution<double> place(0, 30), size(20, 40);
  for (int trial = 0; trial < 30; ++trial) {
    std::vector<Box> boxes;
    std::vector<std::int32_t> annotators;
    for (std::int32_t k = 0; k < 4; ++k) {
      for (unsigned b = rng() % 4; b > 0; --b) {
        const double x = place(rng), y = place(rng);
        boxes.push_back({x, y, x + size(rng), y + size(rng)});
        annotators.push_back(k);
      }
    }
    for (const std::size_t looked : {4u, 5u, 7u}) {
      const auto found = bdc::agreement_groups(boxes, annotators, looked, 0.3);
      EXPECT_TRUE(found.complete);
      EXPECT_EQ(found.members, by_all_subsets(boxes, annotators, looked, 0.3)) << looked;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, AgreementGroupsOnRandomBoxes, ::testing::Range(1u, 6u));

TEST(AgreementGroups, ACrowdedImageEndsAndSaysSo) {
  std::vector<Box> boxes(600, Box{0, 0, 10, 10});
  std::vector<std::int32_t> annotators;
  for (std::int32_t b = 0; b < 600; ++b) annotators.push_back(b / 40);
  const auto found = bdc::agreement_groups(boxes, annotators, 15, 0.5, 20000);
  EXPECT_FALSE(found.complete);
  EXPECT_FALSE(found.members.empty());
}

/// Dawid and Skene with dense arrays, as the paper of 1979 writes it.
std::vector<std::vector<std::vector<double>>> dense_rates(const std::vector<std::vector<ClassVote>>& objects,
                                                          std::size_t K, std::size_t J, int rounds) {
  std::vector<std::vector<double>> truth;
  for (const auto& votes : objects) {
    truth.emplace_back(J, 0.0);
    for (const ClassVote& v : votes) {
      truth.back()[static_cast<std::size_t>(v.label)] += 1 / static_cast<double>(votes.size());
    }
  }
  std::vector<std::vector<std::vector<double>>> rate;
  for (int round = 0; round < rounds; ++round) {
    std::vector<double> share(J, 0.0);
    rate.assign(K, std::vector<std::vector<double>>(J, std::vector<double>(J, 0.0)));
    for (std::size_t g = 0; g < objects.size(); ++g) {
      for (std::size_t j = 0; j < J; ++j) {
        share[j] += truth[g][j] / static_cast<double>(objects.size());
        for (const ClassVote& v : objects[g]) {
          rate[static_cast<std::size_t>(v.annotator)][j][static_cast<std::size_t>(v.label)] += truth[g][j];
        }
      }
    }
    for (auto& of_annotator : rate) {
      for (auto& row : of_annotator) {
        double sum = 0;
        for (const double r : row) sum += r;
        for (double& r : row) r = sum > 0 ? r / sum : 0;
      }
    }
    for (std::size_t g = 0; g < objects.size(); ++g) {
      double sum = 0;
      for (std::size_t j = 0; j < J; ++j) {
        truth[g][j] = share[j];
        for (const ClassVote& v : objects[g]) {
          truth[g][j] *= rate[static_cast<std::size_t>(v.annotator)][j][static_cast<std::size_t>(v.label)];
        }
        sum += truth[g][j];
      }
      for (double& p : truth[g]) p = sum > 0 ? p / sum : 0;
    }
  }
  return rate;
}

class DawidSkeneOnRandomVotes : public ::testing::TestWithParam<unsigned> {};

TEST_P(DawidSkeneOnRandomVotes, HasTheRatesOfTheDenseAlgorithm) {
  std::mt19937 rng(GetParam());
  std::uniform_real_distribution<double> chance(0, 1);
  const std::size_t K = 5, J = 4;
  std::vector<std::vector<ClassVote>> objects(80);
  std::vector<ClassVote> votes;
  std::vector<std::size_t> begin(1, 0);
  for (auto& object : objects) {
    const auto is = static_cast<std::int32_t>(rng() % J);
    for (std::int32_t k = 0; k < static_cast<std::int32_t>(K); ++k) {
      if (chance(rng) < 0.3) continue;
      const bool right = chance(rng) < 0.9 - 0.15 * k;
      object.push_back({k, right ? is : static_cast<std::int32_t>(rng() % J)});
    }
    if (object.empty()) object.push_back({0, is});
    votes.insert(votes.end(), object.begin(), object.end());
    begin.push_back(votes.size());
  }
  const bdc::DawidSkene skill(votes, begin, J);
  EXPECT_GT(skill.rounds(), 2);
  const auto rate = dense_rates(objects, K, J, skill.rounds());
  for (std::int32_t k = 0; k < static_cast<std::int32_t>(K); ++k) {
    for (std::int32_t j = 0; j < static_cast<std::int32_t>(J); ++j) {
      const auto a = static_cast<std::size_t>(k), c = static_cast<std::size_t>(j);
      EXPECT_NEAR(skill.accuracy({k, j}), rate[a][c][c], 1e-9) << k << " " << j;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, DawidSkeneOnRandomVotes, ::testing::Range(1u, 9u));

TEST(DawidSkene, NothingToLearnFromIsNothingKnown) {
  const std::vector<std::size_t> begin{0};
  EXPECT_EQ(bdc::DawidSkene({}, begin, 3).accuracy({0, 1}), 0);
}

/// Three people look at one place of each image; the third calls every object class 1.
bdc::CrowdData three_people() {
  bdc::CrowdData crowd;
  for (const char* name : {"a", "b"}) {
    crowd.classes.push_back({});
    crowd.classes.back().id.text = crowd.classes.back().name = name;
  }
  for (const char* name : {"x", "y", "z"}) {
    crowd.annotators.push_back({});
    crowd.annotators.back().id.text = name;
  }
  crowd.assignments_known = true;
  for (std::int32_t i = 0; i < 30; ++i) {
    crowd.images.push_back({});
    crowd.images.back().id.text = std::to_string(i);
    crowd.images.back().width = crowd.images.back().height = 100;
    for (std::int32_t k = 0; k < 3; ++k) {
      const double shift = k;
      const std::int32_t label = k == 2 || i % 2 == 1 ? 1 : 0;
      crowd.annotations.push_back({{10 + shift, 10, 60 + shift, 60}, i, label, k});
    }
    crowd.annotations.push_back({{70, 70, 90, 90}, i, 1, 2});  // nobody else saw this
  }
  crowd.finalize();
  return crowd;
}

TEST(Laem, AccuratePeopleDecideAndLonePlacesAreLeftOut) {
  const bdc::CrowdData crowd = three_people();
  bdc::FitInput input;
  input.crowd = &crowd;
  const bdc::FitResult result = bdc::make_learner("laem", {})->fit(input);
  ASSERT_EQ(result.targets.box.size(), 30u);
  for (std::size_t i = 0; i < 30; ++i) {
    EXPECT_EQ(result.targets.hard_label[i], i % 2 == 1 ? 1 : 0);
    EXPECT_NEAR(result.targets.box[i].x1, 11, 1e-9);
  }
  EXPECT_NEAR(bdc::make_learner("laem", {{"box", "union"}})->fit(input).targets.box[0].x2, 62, 1e-9);
  EXPECT_NEAR(bdc::make_learner("laem", {{"box", "intersect"}})->fit(input).targets.box[0].x2, 60, 1e-9);
}

TEST(EmWbf, ABoxCountsAsMuchAsItsAnnotatorIsRightInItsClass) {
  const bdc::CrowdData crowd = three_people();
  bdc::FitInput input;
  input.crowd = &crowd;
  const bdc::Targets targets = bdc::make_learner("em-wbf", {})->fit(input).targets;
  // Image 0: x and y say class a, always rightly; z says b, which z also says of everything else.
  const auto score_of = [&](std::size_t image, std::int32_t label) {
    double best = 0;
    for (std::size_t t = targets.begin[image]; t < targets.begin[image + 1]; ++t) {
      if (targets.hard_label[t] == label) best = std::max(best, targets.score[t]);
    }
    return best;
  };
  EXPECT_NEAR(score_of(0, 0), 2.0 / 3, 1e-6);
  EXPECT_GT(score_of(0, 0), score_of(0, 1));
  EXPECT_NEAR(score_of(1, 1), 1, 1e-6);
}

}  // namespace
