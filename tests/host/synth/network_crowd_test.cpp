// Annotators with networks follow the laws they are said to, within sampling error: four standard deviations
// everywhere. Matrices and proposals are made by hand here; tests/host/train has the networks.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <numeric>

#include "bdc/base/error.h"
#include "bdc/base/user_error.h"
#include "support/random_scenes.h"
#include "synth/crops.h"
#include "synth/drawn_quality.h"
#include "synth/draws.h"
#include "synth/network_settings.h"
#include "synth/simulate.h"

namespace bdc::host {
namespace {

double margin(double p, double n) {
  return 4 * std::sqrt(p * (1 - p) / n) + 1e-12;
}

/// One image of 100 x 100 with the given objects.
CrowdData one_image(const std::vector<TruthBox>& objects, std::size_t classes) {
  CrowdData data = test::random_scenes(1, classes, 1);
  data.images[0].width = data.images[0].height = 100;
  data.truth = objects;
  data.finalize();
  return data;
}

TruthBox object(const Box& box, std::int32_t label, bool is_crowd = false) {
  return {box, 0, label, is_crowd, box.area()};
}

std::shared_ptr<const ImageProposals> proposals(const std::vector<std::vector<ImageProposals::One>>& images) {
  const auto out = std::make_shared<ImageProposals>();
  for (const auto& image : images) out->add_image(image);
  return out;
}

std::vector<Drawing> draw(const Hand& hand, const CrowdData& data, std::uint64_t n) {
  Random random(5, 1, n);
  std::vector<Drawing> out;
  hand.draw(data, 0, random, out);
  return out;
}

/// J + 1 rows that always name the same.
std::vector<double> always(std::size_t classes, const std::vector<std::size_t>& given) {
  std::vector<double> out((classes + 1) * (classes + 1), 0.0);
  for (std::size_t t = 0; t <= classes; ++t) out[t * (classes + 1) + given[t]] = 1;
  return out;
}

TEST(Draws, GammaHasItsMeanAndVariance) {
  for (const double shape : {0.3, 1.0, 4.5, 200.0}) {
    Random random(3);
    const int n = 40000;
    double sum = 0, squares = 0;
    for (int i = 0; i < n; ++i) {
      const double x = draw_gamma(shape, random);
      sum += x;
      squares += x * x;
    }
    const double mean = sum / n, variance = squares / n - mean * mean;
    EXPECT_NEAR(mean, shape, 4 * std::sqrt(shape / n)) << shape;
    // Fourth central moment of a gamma variable: 3 k^2 + 6 k.
    EXPECT_NEAR(variance, shape, 4 * std::sqrt((2 * shape * shape + 6 * shape) / n)) << shape;
  }
}

TEST(Draws, DirichletHasItsMeanAndVarianceAndLeavesZerosZero) {
  const std::vector<double> alpha = {6, 0, 1.5, 0.5};
  const double total = 8;
  Random random(4);
  const int n = 40000;
  std::vector<double> sum(4, 0.0), squares(4, 0.0);
  for (int i = 0; i < n; ++i) {
    const auto p = draw_dirichlet(alpha, random);
    EXPECT_NEAR(std::accumulate(p.begin(), p.end(), 0.0), 1, 1e-12);
    EXPECT_EQ(p[1], 0);
    for (std::size_t c = 0; c < 4; ++c) sum[c] += p[c], squares[c] += p[c] * p[c];
  }
  for (std::size_t c = 0; c < 4; ++c) {
    const double m = alpha[c] / total, v = m * (1 - m) / (total + 1);
    EXPECT_NEAR(sum[c] / n, m, 4 * std::sqrt(v / n) + 1e-12);
    EXPECT_NEAR(squares[c] / n - sum[c] / n * sum[c] / n, v, 0.05 * v + 1e-12);
  }
  // Parameters so small that the gamma variates themselves are below the smallest double.
  const auto corner = draw_dirichlet({1e-5, 1e-5}, random);
  EXPECT_NEAR(corner[0] + corner[1], 1, 1e-12);
  EXPECT_THROW((void)draw_dirichlet({0, 0}, random), std::invalid_argument);
  EXPECT_THROW((void)draw_dirichlet({1, -1}, random), std::invalid_argument);
}

TEST(Draws, AnIndexComesInProportionToItsWeight) {
  const std::vector<double> weights = {0, 1, 0, 3, 0};
  Random random(5);
  const int n = 20000;
  std::vector<double> count(5, 0.0);
  for (int i = 0; i < n; ++i) count[draw_index(weights, random)] += 1;
  EXPECT_EQ(count[0] + count[2] + count[4], 0);
  EXPECT_NEAR(count[1] / n, 0.25, margin(0.25, n));
  EXPECT_THROW((void)draw_index({0, 0}, random), std::invalid_argument);
  EXPECT_THROW((void)draw_index({}, random), std::invalid_argument);
}

TEST(NetworkHand, ABoxIsAProposalDrawnByIouTimesObjectness) {
  const CrowdData data = one_image({object({20, 20, 60, 60}, 0)}, 1);
  const std::vector<ImageProposals::One> seen = {{{20, 20, 60, 60}, 0.5},   // IoU 1
                                                 {{30, 20, 70, 60}, 0.9},   // IoU 0.6
                                                 {{20, 20, 60, 100}, 0.3},  // IoU 0.5
                                                 {{70, 70, 90, 90}, 1.0},   // IoU 0
                                                 {{20, 20, 60, 50}, 0.0}};  // objectness 0
  const std::vector<double> weight = {0.5, 0.54, 0.15, 0, 0};
  const auto hand = make_network_hand(always(1, {0, 1}), proposals({seen}), 1);
  const std::uint64_t n = 30000;
  std::vector<double> count(seen.size(), 0.0);
  for (std::uint64_t i = 0; i < n; ++i) {
    const auto drawn = draw(*hand, data, i);
    ASSERT_EQ(drawn.size(), 1u);
    EXPECT_EQ(drawn[0].object, 0);
    for (std::size_t p = 0; p < seen.size(); ++p) count[p] += drawn[0].box == seen[p].box ? 1 : 0;
  }
  for (std::size_t p = 0; p < seen.size(); ++p) {
    const double wanted = weight[p] / 1.19;
    EXPECT_NEAR(count[p] / static_cast<double>(n), wanted, margin(wanted, static_cast<double>(n))) << p;
  }
}

TEST(NetworkHand, ClassesFollowTheAnnotatorsOwnMatrixAndBackgroundIsAMiss) {
  const CrowdData data = one_image({object({10, 10, 40, 40}, 0), object({50, 50, 90, 90}, 1)}, 2);
  // Rows: class 0, class 1, background.
  const std::vector<double> matrix = {0.7, 0.2, 0.1, 0.05, 0.65, 0.3, 0.15, 0.1, 0.75};
  const auto hand = make_network_hand(matrix, proposals({{{{10, 10, 40, 40}, 0.5}, {{50, 50, 90, 90}, 0.5}}}), 2);
  const std::uint64_t n = 30000;
  std::vector<double> count(9, 0.0);
  for (std::uint64_t i = 0; i < n; ++i) {
    std::array<std::size_t, 3> given = {2, 2, 2};  // nothing was drawn
    for (const Drawing& d : draw(*hand, data, i)) {
      given[d.object < 0 ? 2 : static_cast<std::size_t>(d.object)] = static_cast<std::size_t>(d.label);
    }
    for (std::size_t t = 0; t < 3; ++t) count[t * 3 + given[t]] += 1;
  }
  for (std::size_t e = 0; e < 9; ++e) {
    EXPECT_NEAR(count[e] / static_cast<double>(n), matrix[e], margin(matrix[e], static_cast<double>(n))) << e;
  }
}

TEST(NetworkHand, AFalsePositivesBoxIsDrawnByObjectness) {
  const CrowdData data = one_image({object({0, 0, 10, 10}, 0)}, 1);
  const std::vector<ImageProposals::One> seen = {{{0, 0, 10, 10}, 0.6}, {{50, 50, 60, 60}, 0.2}, {{70, 70, 99, 99}, 0}};
  // The object is always missed, and something is always seen where nothing is.
  const auto hand = make_network_hand(always(1, {1, 0}), proposals({seen}), 1);
  const std::uint64_t n = 20000;
  double first = 0;
  for (std::uint64_t i = 0; i < n; ++i) {
    const auto drawn = draw(*hand, data, i);
    ASSERT_EQ(drawn.size(), 1u);
    ASSERT_EQ(drawn[0].object, -1);
    ASSERT_FALSE(drawn[0].box == seen[2].box);
    first += drawn[0].box == seen[0].box ? 1 : 0;
  }
  EXPECT_NEAR(first / static_cast<double>(n), 0.75, margin(0.75, static_cast<double>(n)));
}

TEST(NetworkHand, AnObjectThatNoProposalOverlapsIsMissed) {
  const CrowdData data = one_image({object({0, 0, 10, 10}, 0)}, 1);
  EXPECT_TRUE(draw(*make_network_hand(always(1, {0, 1}), proposals({{{{50, 50, 60, 60}, 1}}}), 1), data, 1).empty());
  EXPECT_TRUE(draw(*make_network_hand(always(1, {0, 0}), proposals({{}}), 1), data, 1).empty());
}

TEST(NetworkHand, CrowdRegionsAreNotDrawn) {
  const CrowdData data = one_image({object({0, 0, 50, 50}, 0, true)}, 1);
  EXPECT_TRUE(draw(*make_network_hand(always(1, {0, 1}), proposals({{{{0, 0, 50, 50}, 1}}}), 1), data, 1).empty());
}

TEST(NetworkHand, OneWhoGuessesDrawsClassesAndBoxesEvenly) {
  const CrowdData data = one_image({object({0, 0, 20, 20}, 2)}, 3);
  const auto hand = make_guessing_hand(3);
  const std::uint64_t n = 20000;
  std::vector<double> given(4, 0.0);
  double left = 0, boxes = 0, invented = 0;
  for (std::uint64_t i = 0; i < n; ++i) {
    bool object_drawn = false;
    for (const Drawing& d : draw(*hand, data, i)) {
      ASSERT_TRUE(d.box.valid() && d.box.x1 >= 0 && d.box.y1 >= 0 && d.box.x2 <= 100 && d.box.y2 <= 100);
      boxes += 1;
      left += d.box.x1 + d.box.x2 < 100 ? 1 : d.box.x1 + d.box.x2 == 100 ? 0.5 : 0;
      if (d.object < 0) {
        invented += 1;
      } else {
        object_drawn = true;
        given[static_cast<std::size_t>(d.label)] += 1;
      }
    }
    if (!object_drawn) given[3] += 1;
  }
  for (const double count : given)
    EXPECT_NEAR(count / static_cast<double>(n), 0.25, margin(0.25, static_cast<double>(n)));
  EXPECT_NEAR(invented / static_cast<double>(n), 0.75, margin(0.75, static_cast<double>(n)));
  EXPECT_NEAR(left / boxes, 0.5, margin(0.5, boxes));
}

TEST(ImageProposals, RefusesWhatIsNoProposal) {
  ImageProposals out;
  EXPECT_THROW(out.add_image({{{10, 10, 10, 20}, 0.5}}), std::invalid_argument);
  EXPECT_THROW(out.add_image({{{10, 10, 20, 20}, 1.5}}), std::invalid_argument);
  EXPECT_THROW(out.add_image({{{10, 10, 20, 20}, NAN}}), std::invalid_argument);
}

TEST(NetworkMatrix, AClassWithoutHeldOutCropsGetsTheOverallShare) {
  // 9 of 12 right; class 1 was never held out.
  const auto p = dirichlet_parameters({5, 1, 0, 0, 0, 0, 2, 0, 4}, 2, 1);
  EXPECT_EQ(p[0], 5);
  EXPECT_EQ(p[2], 0);
  EXPECT_DOUBLE_EQ(p[4], 0.75);
  EXPECT_DOUBLE_EQ(p[3], 0.125);
  EXPECT_DOUBLE_EQ(p[3] + p[4] + p[5], 1);
  EXPECT_EQ(dirichlet_parameters({1, 0, 0, 1}, 1, 0.5)[0], 0.5);
  EXPECT_THROW((void)dirichlet_parameters({1, 0, 0}, 1, 1), std::invalid_argument);
  EXPECT_THROW((void)dirichlet_parameters({0, 0, 0, 0}, 1, 1), std::invalid_argument);
  EXPECT_THROW((void)dirichlet_parameters({1, -1, 0, 1}, 1, 1), std::invalid_argument);
}

/// Networks for scenes with 3 classes, each skill with its own share of right crops; proposals near the objects.
SkillSources hand_made_sources(const CrowdData& scenes) {
  SkillSources out;
  const std::size_t size = scenes.classes.size() + 1;
  const auto add = [&](const char* skill, double right) {
    SkillSource source;
    for (std::size_t t = 0; t < size; ++t) {
      for (std::size_t c = 0; c < size; ++c) {
        source.counts.push_back(t == c ? right * 200 : (1 - right) * 200 / static_cast<double>(size - 1));
      }
    }
    const auto seen = std::make_shared<ImageProposals>();
    for (std::size_t i = 0; i < scenes.images.size(); ++i) {
      std::vector<ImageProposals::One> ones;
      for (std::size_t n = scenes.truth_begin[i]; n < scenes.truth_begin[i + 1]; ++n) {
        Box b = scenes.truth[n].box;
        for (int step = 0; step < 4; ++step, b.x2 += 5 / right, b.y1 -= 3) ones.push_back({b, 0.9 - 0.2 * step});
      }
      seen->add_image(ones);
    }
    source.proposals = seen;
    out.skills[skill] = std::move(source);
  };
  add("expert", 0.9);
  add("average", 0.7);
  add("poor", 0.5);
  return out;
}

TEST(NetworkCrowd, PresetsHaveExactlyTheirAnnotatorsAndCoverage) {
  struct Group {
    std::size_t annotators = 0, images = 0;
  };
  const std::map<std::string, std::map<std::string, Group>> wanted = {
      {"voc-full", {{"average", {10, 400}}}},
      {"voc-mix", {{"expert", {5, 400}}, {"average", {20, 400}}}},
      {"coco-full", {{"average", {10, 400}}}},
      {"coco-mix", {{"expert", {20, 20}}, {"average", {550, 4}}, {"poor", {330, 2}}, {"random", {100, 4}}}},
      {"noisy", {{"expert", {3, 240}}, {"poor", {17, 240}}, {"random", {5, 240}}}}};
  const CrowdData scenes = test::random_scenes(400, 3, 1);
  const SkillSources sources = hand_made_sources(scenes);
  for (const auto& [preset, groups] : wanted) {
    CrowdSpec spec = crowd_preset(preset);
    use_networks(spec, preset);
    CrowdData crowd = scenes;
    const auto members = make_members(spec, crowd, 1, sources);
    simulate_crowd(crowd, members, {1, false, 0});
    std::vector<std::size_t> seen(members.size(), 0);
    for (const Assignment& a : crowd.assignments) seen[static_cast<std::size_t>(a.annotator)] += 1;
    std::map<std::string, std::size_t> found;
    for (std::size_t k = 0; k < members.size(); ++k) {
      const std::string& skill = members[k].self.skill;
      ASSERT_TRUE(groups.count(skill)) << preset << " " << skill;
      ++found[skill];
      EXPECT_EQ(seen[k], groups.at(skill).images) << preset << " " << members[k].self.name;
    }
    for (const auto& [skill, group] : groups) EXPECT_EQ(found[skill], group.annotators) << preset << " " << skill;
  }
}

TEST(NetworkCrowd, EachAnnotatorsDrawingsFollowItsOwnMatrix) {
  const CrowdData scenes = test::random_scenes(1500, 3, 2);
  CrowdSpec spec;
  spec.groups = {{"expert", 2, 1, {}, true}, {"poor", 2, 1, {}, true}, {"random", 1, 1, {}, true}};
  CrowdData crowd = scenes;
  const auto members = make_members(spec, crowd, 4, hand_made_sources(scenes));
  const auto drawn_for = simulate_crowd(crowd, members, {4, false, 0});
  EXPECT_NE(members[0].self.confusion, members[1].self.confusion);  // everybody has a matrix of their own
  constexpr std::size_t size = 4;
  std::vector<double> of_class(size, 0.0);
  for (const TruthBox& t : crowd.truth) of_class[static_cast<std::size_t>(t.label)] += 1;
  of_class[3] = static_cast<double>(crowd.images.size());
  for (std::size_t k = 0; k < members.size(); ++k) {
    std::vector<double> count(size * size, 0.0);
    for (std::size_t n = 0; n < crowd.annotations.size(); ++n) {
      const Annotation& a = crowd.annotations[n];
      if (a.annotator != static_cast<std::int32_t>(k)) continue;
      const std::size_t t =
          drawn_for[n] < 0 ? 3 : static_cast<std::size_t>(crowd.truth[static_cast<std::size_t>(drawn_for[n])].label);
      count[t * size + static_cast<std::size_t>(a.label)] += 1;
    }
    for (std::size_t t = 0; t < size; ++t) {
      double drawn = 0;
      for (std::size_t c = 0; c < 3; ++c) drawn += count[t * size + c];
      count[t * size + 3] = of_class[t] - drawn;
      for (std::size_t c = 0; c < size; ++c) {
        const double p = members[k].self.confusion[t * size + c];
        EXPECT_NEAR(count[t * size + c] / of_class[t], p, margin(p, of_class[t]) + 1e-9)
            << members[k].self.name << " " << t << " " << c;
      }
    }
    // The numbers that stand aside are those of the matrix, and what was measured is near them.
    const auto q = measure_drawings(crowd, drawn_for)[k];
    EXPECT_NEAR(q.drawn / q.objects, members[k].self.recall, margin(members[k].self.recall, q.objects));
    EXPECT_NEAR(q.right / q.drawn, members[k].self.class_accuracy, margin(members[k].self.class_accuracy, q.drawn));
    EXPECT_NEAR(q.spurious / q.images, members[k].self.spurious_rate, margin(members[k].self.spurious_rate, q.images));
  }
}

TEST(NetworkCrowd, MatricesOfASkillSpreadAroundTheClassifiersAsDirichletDrawsDo) {
  const CrowdData scenes = test::random_scenes(3, 3, 2);
  CrowdSpec spec;
  spec.groups = {{"average", 4000, 1, {}, true}};
  SkillSources sources = hand_made_sources(scenes);
  for (const double scale : {1.0, 0.1}) {
    sources.dirichlet_scale = scale;
    double sum = 0, squares = 0;
    for (const CrowdMember& m : make_members(spec, scenes, 1, sources)) {
      sum += m.self.confusion[5];  // row 1, column 1
      squares += m.self.confusion[5] * m.self.confusion[5];
    }
    const double mean = sum / 4000, variance = squares / 4000 - mean * mean, v = 0.7 * 0.3 / (200 * scale + 1);
    EXPECT_NEAR(mean, 0.7, 4 * std::sqrt(v / 4000)) << scale;
    EXPECT_NEAR(variance, v, 0.15 * v) << scale;
  }
}

TEST(NetworkCrowd, TheSameSeedGivesTheSameBitsForAnyNumberOfThreads) {
  const CrowdData scenes = test::random_scenes(300, 3, 2);
  CrowdSpec spec = crowd_preset("noisy");
  use_networks(spec, "noisy");
  const SkillSources sources = hand_made_sources(scenes);
  CrowdData a = scenes, b = scenes;
  simulate_crowd(a, make_members(spec, a, 5, sources), {5, false, 1});
  simulate_crowd(b, make_members(spec, b, 5, sources), {5, false, 4});
  ASSERT_EQ(a.annotations.size(), b.annotations.size());
  for (std::size_t n = 0; n < a.annotations.size(); ++n) {
    ASSERT_TRUE(a.annotations[n].box == b.annotations[n].box && a.annotations[n].label == b.annotations[n].label);
  }
}

TEST(NetworkCrowd, TrueParametersHoldTheMatricesAndWhatWasMeasured) {
  CrowdData crowd = test::random_scenes(40, 3, 2);
  const SkillSources sources = hand_made_sources(crowd);
  CrowdSpec spec = crowd_preset("coco-mix");
  use_networks(spec, "coco-mix");
  const auto members = make_members(spec, crowd, 2, sources);
  const auto drawn_for = simulate_crowd(crowd, members, {2, true, 0});
  const Json aside = true_annotators(spec, members, crowd, drawn_for, 2, sources);
  EXPECT_EQ(aside["groups"][0]["kind"], "network");
  EXPECT_EQ(aside["groups"][0]["confusion_counts"].size(), 16u);
  const Json& expert = aside["annotators"][0];
  ASSERT_EQ(expert["confusion"].size(), 16u);
  EXPECT_FALSE(expert.contains("bias"));
  EXPECT_GT(expert["class_accuracy"], 0.8);
  EXPECT_GT(expert["measured"]["box_iou"], 0.5);
  EXPECT_NEAR(aside["annotators"][999]["confusion"][3].get<double>(), 0.25, 1e-6);  // a random one
}

TEST(NetworkCrowd, ASkillWithoutNetworksIsNoMember) {
  const CrowdData scenes = test::random_scenes(3, 3, 2);
  CrowdSpec spec = crowd_preset("voc-full");
  use_networks(spec, "voc-full");
  EXPECT_THROW((void)make_members(spec, scenes, 1), std::invalid_argument);
}

std::string spec_error(const char* text) {
  try {
    (void)parse_crowd_spec(Json::parse(text), "c.json");
  } catch (const UserError& e) {
    EXPECT_EQ(e.code(), ExitCode::config);
    return e.what();
  }
  return "";
}

TEST(NetworkSpec, KindsMayBeMixed) {
  const CrowdSpec all = parse_crowd_spec(Json::parse(R"({"preset": "coco-mix", "kind": "network"})"), "c");
  EXPECT_EQ(all.network_skills(), (std::vector<std::string>{"expert", "average", "poor"}));
  const CrowdSpec some = parse_crowd_spec(Json::parse(R"({"kind": "network", "groups": [
      {"skill": "expert", "annotators": 2}, {"skill": "poor", "kind": "parametric", "recall": 0.5},
      {"skill": "students"}], "networks": {"skills": {"students": {"classifier": {"epochs": 1}}}}})"),
                                          "c");
  EXPECT_EQ(some.network_skills(), (std::vector<std::string>{"expert", "students"}));
  EXPECT_EQ(some.groups[1].numbers.recall, 0.5);
  EXPECT_TRUE(crowd_preset("coco-mix").network_skills().empty());
}

TEST(NetworkSpec, SaysWhatIsWrongWithIt) {
  EXPECT_NE(spec_error(R"({"preset": "voc-mix", "kind": "netwrk"})").find("network"), std::string::npos);
  EXPECT_NE(spec_error(R"({"kind": "network", "groups": [{"skill": "mine"}]})").find("networks.skills"),
            std::string::npos);
  EXPECT_NE(spec_error(R"({"kind": "network", "groups": [{"skill": "poor", "recall": 0.5}]})").find("recall"),
            std::string::npos);
  const auto networks_error = [](const std::string& networks) {
    return spec_error((R"({"preset": "voc-mix", "kind": "network", "networks": )" + networks + "}").c_str());
  };
  EXPECT_EQ(networks_error(R"({"size": "small", "seed": 3, "proposals": 50, "classifier": {"epochs": 2}})"), "");
  EXPECT_NE(networks_error(R"({"sise": "small"})").find("size"), std::string::npos);
  EXPECT_NE(networks_error(R"({"size": "large"})").find("small"), std::string::npos);
  EXPECT_NE(networks_error(R"({"rpn": {"backbone": "resnet51"}})").find("resnet50"), std::string::npos);
  EXPECT_NE(networks_error(R"({"rpn": {"epochs": 0}})").find("c.json: networks.rpn.epochs"), std::string::npos);
  EXPECT_NE(networks_error(R"({"rpn": {"epochs": 1.5}})").find("whole number"), std::string::npos);
  EXPECT_NE(networks_error(R"({"rpn": {"epochs": 18446744073709551615}})").find("whole number"), std::string::npos);
  EXPECT_NE(networks_error(R"({"skills": {"poor": {"classifier": {"crop": 40}}}})").find("63"), std::string::npos);
  EXPECT_NE(networks_error(R"({"skills": {"poor": {"classifer": {}}}})").find("classifier"), std::string::npos);
  EXPECT_NE(networks_error(R"({"held_out": 1})").find("held_out"), std::string::npos);
}

TEST(NetworkSettings, ThePairsAreThePapers) {
  const std::map<std::string, std::pair<std::string, std::string>> pairs = {
      {"poor", {"alexnet", "resnet18"}}, {"average", {"vgg16", "resnet50"}}, {"expert", {"resnet50", "resnet101"}}};
  for (const char* size : {"small", "published"}) {
    const auto settings = parse_network_settings(Json::object(), "n", size, 7);
    for (const auto& [skill, pair] : pairs) {
      EXPECT_EQ(settings.skills.at(skill).classifier.kind, pair.first);
      EXPECT_EQ(settings.skills.at(skill).rpn.backbone, pair.second);
      EXPECT_EQ(settings.skills.at(skill).seed, 7u);
    }
  }
  const auto published = parse_network_settings(Json::object(), "n", "published", 1).skills.at("expert");
  EXPECT_EQ(published.classifier.width, 1);
  EXPECT_EQ(published.classifier.training.epochs, 5);
  EXPECT_EQ(published.classifier.training.batch, 256);
  EXPECT_EQ(published.classifier.training.learning_rate, 0.005);
  EXPECT_EQ(published.rpn.training.batch, 16);
  EXPECT_EQ(published.rpn.training.learning_rate, 0.001);
}

TEST(NetworkSettings, WhatIsSaidOfOneSkillGoesBeforeWhatIsSaidOfAll) {
  const auto settings = parse_network_settings(
      Json::parse(R"({"rpn": {"epochs": 3, "width": 0.5}, "skills": {"poor": {"rpn": {"epochs": 9}},
                      "mine": {"rpn": {"weights": "r50.pth"}}}})"),
      "n", "small", 1);
  EXPECT_EQ(settings.skills.at("expert").rpn.training.epochs, 3);
  EXPECT_EQ(settings.skills.at("poor").rpn.training.epochs, 9);
  EXPECT_EQ(settings.skills.at("poor").rpn.width, 0.5);
  EXPECT_EQ(settings.skills.at("mine").rpn.norm, "frozen");  // pretrained weights
  EXPECT_EQ(settings.skills.at("mine").rpn.backbone, "resnet50");
  const SkillNetworks& mine = settings.skills.at("mine");
  EXPECT_EQ(to_json(parse_skill_networks(to_json(mine), "n", {})), to_json(mine));
}

TEST(Crops, AreEveryObjectAndFreeBackground) {
  const CrowdData scenes = test::random_scenes(200, 3, 4);
  const CropSets crops = make_crops(scenes, {0.25, 2, 1});
  std::map<std::int32_t, int> images_held_out;
  std::size_t objects = 0, backgrounds = 0;
  for (const auto* set : {&crops.train, &crops.held_out}) {
    for (const Crop& c : *set) {
      const auto i = static_cast<std::size_t>(c.image);
      ASSERT_TRUE(c.box.valid() && c.box.x1 >= 0 && c.box.x2 <= scenes.images[i].width && c.box.y1 >= 0 &&
                  c.box.y2 <= scenes.images[i].height);
      images_held_out[c.image] |= set == &crops.train ? 1 : 2;
      if (c.label < 3) {
        ++objects;
        continue;
      }
      ++backgrounds;
      ASSERT_EQ(c.label, 3);
      for (std::size_t n = scenes.truth_begin[i]; n < scenes.truth_begin[i + 1]; ++n) {
        EXPECT_EQ(intersection(c.box, scenes.truth[n].box), 0);
      }
    }
  }
  EXPECT_EQ(objects, scenes.truth.size());
  EXPECT_GT(backgrounds, 300u);
  std::size_t held_out = 0;
  for (const auto& [image, sets] : images_held_out) {
    EXPECT_NE(sets, 3) << "image " << image << " is in both sets";
    held_out += sets == 2 ? 1 : 0;
  }
  EXPECT_EQ(held_out, 50u);
}

TEST(Crops, NeedObjectsToLearnFromAndToMeasureOn) {
  EXPECT_THROW((void)make_crops(test::random_scenes(1, 2, 1), {}), DataError);
  CrowdData empty = test::random_scenes(10, 2, 1);
  empty.truth.resize(1);
  empty.finalize();
  EXPECT_THROW((void)make_crops(empty, {}), DataError);
  empty.truth.clear();
  empty.finalize();
  EXPECT_THROW((void)make_crops(empty, {}), DataError);
}

TEST(DrawnQuality, CountsWhatWasDrawnForWhat) {
  CrowdData data = one_image({object({0, 0, 10, 10}, 0), object({50, 50, 70, 90}, 1)}, 2);
  data.annotators.push_back({{"a", false}, "a"});
  data.annotations = {{{0, 0, 10, 20}, 0, 0, 0}, {{55, 50, 75, 90}, 0, 0, 0}, {{1, 1, 5, 5}, 0, 1, 0}};
  data.assignments_known = true;
  data.finalize();
  const auto q = measure_drawings(data, {0, 1, -1})[0];
  EXPECT_EQ(q.images, 1);
  EXPECT_EQ(q.objects, 2);
  EXPECT_EQ(q.drawn, 2);
  EXPECT_EQ(q.right, 1);
  EXPECT_EQ(q.spurious, 1);
  EXPECT_NEAR(q.mean_iou, (0.5 + 0.6) / 2, 1e-12);
  EXPECT_NEAR(q.bias[0], 0.125, 1e-12);              // 0 and 5 / 20
  EXPECT_NEAR(q.bias[1], 0.25, 1e-12);               // 5 / 10 and 0
  EXPECT_NEAR(q.bias[3], std::log(2.0) / 2, 1e-12);  // twice as high, and as high
  EXPECT_NEAR(q.noise[0], 0.125, 1e-12);
  EXPECT_THROW((void)measure_drawings(data, {0}), std::invalid_argument);
}

}  // namespace
}  // namespace bdc::host
