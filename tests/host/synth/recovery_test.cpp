// What is learnt of a crowd without the truth is what the crowd is: a tenth of coco-mix (2 experts, 55 average, 33
// poor, 10 random annotators) on 4,000 images.
#include <gtest/gtest.h>

#include <cmath>
#include <iostream>
#include <map>
#include <set>

#include "bdc/learn/annotator_clusters.h"
#include "bdc/learn/learners.h"
#include "bdc/metrics/correlation.h"
#include "support/random_scenes.h"
#include "synth/simulate.h"

namespace bdc::host {
namespace {

class Recovery : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    CrowdSpec spec;
    const auto group = [](const char* skill, std::int64_t n, double coverage) {
      return GroupSpec{skill, n, coverage, skill_numbers(skill)};
    };
    // Coverage five times that of coco-mix, so that an annotator sees 100 to 1,000 images (coco-mix: 590 to 5,900).
    spec.groups = {group("expert", 2, 0.25), group("average", 55, 0.05), group("poor", 33, 0.025),
                   group("random", 10, 0.05)};
    CrowdData crowd = test::random_scenes(4000, 20, 8);
    members = make_members(spec, crowd, 8);
    simulate_crowd(crowd, members, {8, false, 0});
    FitInput input;
    input.crowd = &crowd;
    learnt = *make_learner("bdc")->fit(input).posteriors;
  }

  static std::vector<CrowdMember> members;
  static AnnotatorPosteriors learnt;
};
std::vector<CrowdMember> Recovery::members;
AnnotatorPosteriors Recovery::learnt;

TEST_F(Recovery, ClassAccuracy) {
  std::vector<double> is, seems;
  for (std::size_t k = 0; k < members.size(); ++k) {
    is.push_back(members[k].self.class_accuracy);
    seems.push_back(learnt.accuracy(k));
  }
  const double r = correlation(is, seems);
  std::cout << "class accuracy: correlation " << r << "\n";
  EXPECT_GE(r, 0.9);
}

/// How far each annotator moves the four edges of a box, in box sizes: with the centre, and with half the size.
/// spread: of the logarithm of the size, in variances to add; 0.5 gives the mean box, 0 the typical (median) one.
std::vector<double> edge_biases(const std::vector<CrowdMember>& members, double spread) {
  std::vector<double> out;
  for (const CrowdMember& m : members) {
    for (const double side : {-0.5, 0.5}) {
      for (std::size_t axis = 0; axis < 2; ++axis) {
        const double noise = m.self.noise[2 + axis];
        out.push_back(m.self.bias[axis] + side * (std::exp(m.self.bias[2 + axis] + spread * noise * noise) - 1));
      }
    }
  }
  return out;
}

TEST_F(Recovery, BoxBias) {
  std::vector<double> seems;
  for (std::size_t k = 0; k < members.size(); ++k) {
    for (const double edge : learnt.box(k).mean) seems.push_back(edge);
  }
  // The learnt bias weighs outliers down, so it is that of the typical box: the annotator's own bias. The mean box of
  // the ten who draw at random is a fifth larger than their typical one; against it the correlation is lower.
  const double typical = correlation(edge_biases(members, 0), seems);
  std::cout << "box bias: correlation " << typical
            << " (with the mean box: " << correlation(edge_biases(members, 0.5), seems) << ")\n";
  EXPECT_GE(typical, 0.9);
}

TEST_F(Recovery, SkillGroups) {
  const AnnotatorClusters clusters = cluster_annotators(learnt, 4), chosen = cluster_annotators(learnt);
  std::map<std::int32_t, std::map<std::string, int>> table;
  for (std::size_t k = 0; k < members.size(); ++k) ++table[clusters.cluster[k]][members[k].self.skill];
  int pure = 0;
  std::set<std::string> found;
  for (const auto& [group, skills] : table) {
    int most = 0;
    std::string best;
    for (const auto& [skill, n] : skills) {
      if (n > most) most = n, best = skill;
      std::cout << "group " << group << ": " << n << " " << skill << "\n";
    }
    pure += most;
    EXPECT_TRUE(found.insert(best).second) << best << " is the largest part of two groups";
  }
  std::cout << "purity " << pure << " %, silhouette " << clusters.silhouette << "; chosen: " << chosen.k
            << " groups, silhouette " << chosen.silhouette << "\n";
  EXPECT_EQ(clusters.k, 4u);
  EXPECT_GE(pure, 90);
}

}  // namespace
}  // namespace bdc::host
