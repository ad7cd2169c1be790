// Simulated crowds have the numbers they were asked for, within sampling error: four standard deviations everywhere.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

#include "bdc/base/error.h"
#include "bdc/base/user_error.h"
#include "support/random_scenes.h"
#include "support/temporary_folder.h"
#include "synth/simulate.h"

namespace bdc::host {
namespace {

CrowdData simulated(const CrowdSpec& spec, CrowdData labels, std::uint64_t seed = 3, int threads = 0) {
  const auto members = make_members(spec, labels, seed);
  simulate_crowd(labels, members, {seed, spec.cover_all, threads});
  return labels;
}

CrowdSpec one_group(SkillNumbers numbers, double coverage = 1, std::int64_t annotators = 1) {
  CrowdSpec spec;
  spec.groups = {{"mine", annotators, coverage, numbers}};
  return spec;
}

/// Half the width of the interval in which a share of n draws falls: four standard deviations.
double margin(double p, double n) {
  return 4 * std::sqrt(p * (1 - p) / n);
}

TEST(Synth, PresetsHaveExactlyTheirAnnotatorsAndCoverage) {
  struct Wanted {
    const char *preset, *skill;
    std::size_t annotators, images;  // of 2,000
  };
  const Wanted wanted[] = {{"voc-full", "average", 10, 2000}, {"voc-mix", "expert", 5, 2000},
                           {"voc-mix", "average", 20, 2000},  {"coco-full", "average", 10, 2000},
                           {"coco-mix", "expert", 20, 100},   {"coco-mix", "average", 550, 20},
                           {"coco-mix", "poor", 330, 10},     {"coco-mix", "random", 100, 20}};
  const CrowdData scenes = test::random_scenes(2000, 5, 1);
  std::map<std::string, std::size_t> total;
  for (const Wanted& w : wanted) {
    const auto members = make_members(crowd_preset(w.preset), scenes, 1);
    std::size_t found = 0;
    for (const CrowdMember& m : members) {
      if (m.self.skill != w.skill) continue;
      ++found;
      ASSERT_EQ(covered_images(m, 2000, 1).size(), w.images) << w.preset << " " << m.self.name;
    }
    EXPECT_EQ(found, w.annotators) << w.preset << " " << w.skill;
    total[w.preset] = members.size();
  }
  EXPECT_EQ(total["coco-mix"], 1000u);
  EXPECT_EQ(total["voc-mix"], 25u);
}

TEST(Synth, ImagesAreSampledWithoutReplacementAndEvenly) {
  const CrowdData scenes = test::random_scenes(200, 3, 1);
  const auto members = make_members(one_group({1, 0, 1, 0}, 0.25, 400), scenes, 7);
  std::vector<double> seen(200, 0.0);
  for (const CrowdMember& m : members) {
    const auto images = covered_images(m, 200, 7);
    EXPECT_EQ(std::set<std::int32_t>(images.begin(), images.end()).size(), 50u);
    for (const auto i : images) seen[static_cast<std::size_t>(i)] += 1;
  }
  for (const double s : seen) EXPECT_NEAR(s / 400, 0.25, margin(0.25, 400) * 1.2);  // 200 intervals at once
}

TEST(Synth, AssignmentsAreWhatWasCoveredAlsoWhereNothingWasDrawn) {
  const CrowdData crowd = simulated(one_group({0, 0, 1, 0}, 0.5, 3), test::random_scenes(40, 3, 1));
  EXPECT_TRUE(crowd.assignments_known);
  EXPECT_EQ(crowd.assignments.size(), 60u);
  EXPECT_TRUE(crowd.annotations.empty());
}

TEST(Synth, CoverAllLeavesNoImageUnseen) {
  CrowdSpec spec = one_group({1, 0, 1, 0}, 0.05, 3);
  spec.cover_all = true;
  const CrowdData crowd = simulated(spec, test::random_scenes(200, 3, 1));
  for (std::size_t i = 0; i < 200; ++i) EXPECT_GT(crowd.assignment_begin[i + 1], crowd.assignment_begin[i]);
}

TEST(Synth, MissesInventionsAndMistakesComeAtTheirRates) {
  const CrowdData scenes = test::random_scenes(3000, 6, 2);
  const auto objects = static_cast<double>(scenes.truth.size());
  const CrowdData misses = simulated(one_group({0.8, 0, 1, 0}), scenes);
  EXPECT_NEAR(static_cast<double>(misses.annotations.size()) / objects, 0.8, margin(0.8, objects));
  const CrowdData invents = simulated(one_group({0, 0.35, 1, 0}), scenes);
  EXPECT_NEAR(static_cast<double>(invents.annotations.size()) / 3000, 0.35, margin(0.35, 3000));
  const CrowdData mistakes = simulated(one_group({1, 0, 0.6, 0}), scenes);
  ASSERT_EQ(mistakes.annotations.size(), scenes.truth.size());
  double right = 0;
  for (std::size_t n = 0; n < scenes.truth.size(); ++n) right += mistakes.annotations[n].label == scenes.truth[n].label;
  EXPECT_NEAR(right / objects, 0.6, margin(0.6, objects));
}

TEST(Synth, DrawnClassesFollowTheConfusionMatrix) {
  const CrowdData scenes = test::random_scenes(6000, 6, 2);
  for (const auto kind :
       {ConfusionRule::Kind::neighbours, ConfusionRule::Kind::uniform, ConfusionRule::Kind::related}) {
    CrowdSpec spec = one_group({1, 0, 0.55, 0});
    spec.confusion.kind = kind;
    if (kind == ConfusionRule::Kind::related)
      spec.confusion.related = {{"class0", "class3", "class4"}, {"class1", "class2"}};
    const CrowdData crowd = simulated(spec, scenes);
    const auto matrix = confusion_matrix(resolve_confusion(spec.confusion, class_names(scenes)), 0.55, 6);
    std::vector<double> count(36, 0.0), met(6, 0.0);
    for (std::size_t n = 0; n < scenes.truth.size(); ++n) {
      const auto j = static_cast<std::size_t>(scenes.truth[n].label),
                 l = static_cast<std::size_t>(crowd.annotations[n].label);
      count[j * 6 + l] += 1;
      met[j] += 1;
    }
    for (std::size_t j = 0; j < 6; ++j) {
      double sum = 0;
      for (std::size_t l = 0; l < 6; ++l) {
        sum += matrix[j * 6 + l];
        EXPECT_NEAR(count[j * 6 + l] / met[j], matrix[j * 6 + l], margin(matrix[j * 6 + l], met[j]) + 1e-9)
            << j << " " << l;
      }
      EXPECT_NEAR(sum, 1, 1e-12);
    }
  }
}

TEST(Synth, BoxesHaveTheAnnotatorsBiasAndNoise) {
  CrowdData scenes = test::random_scenes(3000, 2, 2);
  for (TruthBox& t : scenes.truth) {  // far from the edges, where nothing is clipped
    const double cx = 150, cy = 150, w = t.box.width() * 0.4 + 20, h = t.box.height() * 0.4 + 20;
    t.box = {cx - w / 2, cy - h / 2, cx + w / 2, cy + h / 2};
  }
  const auto members = make_members(one_group({1, 0, 1, 0.06, 0.1}), scenes, 3);
  CrowdData crowd = scenes;
  simulate_crowd(crowd, members, {3, false, 0});
  const SimulatedAnnotator& who = members[0].self;
  std::array<double, 4> sum{}, squares{};
  for (std::size_t n = 0; n < scenes.truth.size(); ++n) {
    const Box &t = scenes.truth[n].box, &b = crowd.annotations[n].box;
    const std::array<double, 4> error = {((b.x1 + b.x2) - (t.x1 + t.x2)) / 2 / t.width(),
                                         ((b.y1 + b.y2) - (t.y1 + t.y2)) / 2 / t.height(),
                                         std::log(b.width() / t.width()), std::log(b.height() / t.height())};
    for (std::size_t c = 0; c < 4; ++c) sum[c] += error[c], squares[c] += error[c] * error[c];
  }
  const auto n = static_cast<double>(scenes.truth.size());
  for (std::size_t c = 0; c < 4; ++c) {
    const double mean = sum[c] / n, deviation = std::sqrt(squares[c] / n - mean * mean);
    EXPECT_GT(std::fabs(who.bias[c]), 0);
    EXPECT_NEAR(mean, who.bias[c], 4 * 0.06 / std::sqrt(n) + 5e-4) << c;  // + rounding to pixels
    EXPECT_NEAR(deviation, 0.06, 4 * 0.06 / std::sqrt(2 * n) + 2e-3) << c;
  }
}

TEST(Synth, TheSameSeedGivesTheSameBitsForAnyNumberOfThreads) {
  const CrowdData scenes = test::random_scenes(300, 6, 2);
  const CrowdData a = simulated(crowd_preset("noisy"), scenes, 5, 1),
                  b = simulated(crowd_preset("noisy"), scenes, 5, 4),
                  other = simulated(crowd_preset("noisy"), scenes, 6, 4);
  ASSERT_EQ(a.annotations.size(), b.annotations.size());
  for (std::size_t n = 0; n < a.annotations.size(); ++n) {
    ASSERT_TRUE(a.annotations[n].box == b.annotations[n].box && a.annotations[n].label == b.annotations[n].label &&
                a.annotations[n].annotator == b.annotations[n].annotator);
  }
  EXPECT_NE(a.annotations.size(), other.annotations.size());
}

TEST(Synth, CrowdRegionsAreNotDrawn) {
  CrowdData scenes = test::random_scenes(50, 2, 2);
  for (TruthBox& t : scenes.truth) t.is_crowd = true;
  EXPECT_TRUE(simulated(one_group({1, 0, 1, 0}), scenes).annotations.empty());
}

TEST(Synth, ADetectorsResultsAreAnAnnotatorsBoxes) {
  const test::TemporaryFolder folder;
  const std::string file = folder.write("results.json", R"([
    {"image_id": 0, "category_id": 1, "bbox": [10, 20, 30, 40], "score": 0.9},
    {"image_id": 0, "category_id": 0, "bbox": [1, 2, 3, 4], "score": 0.2},
    {"image_id": 77, "category_id": 0, "bbox": [1, 2, 3, 4], "score": 0.9}])");
  CrowdSpec spec;
  spec.detectors = {{"net", file, 0.5, 1}};
  const CrowdData crowd = simulated(spec, test::random_scenes(3, 2, 2));
  ASSERT_EQ(crowd.annotations.size(), 1u);
  EXPECT_TRUE(crowd.annotations[0].box == (Box{10, 20, 40, 60}));
  EXPECT_EQ(crowd.annotations[0].label, 1);
  EXPECT_EQ(crowd.annotators[0].name, "net");
  EXPECT_EQ(crowd.assignments.size(), 3u);
}

/// A detector's results on three images of 300 pixels, as an annotator.
std::vector<CrowdMember> detector(const std::string& results, double min_score = 0.5) {
  const test::TemporaryFolder folder;
  CrowdSpec spec;
  spec.detectors = {{"net", folder.write("results.json", results), min_score, 1}};
  CrowdData scenes = test::random_scenes(3, 2, 2);
  for (ImageRecord& image : scenes.images) image.width = image.height = 300;
  return make_members(spec, scenes, 1);
}

TEST(Synth, ADetectorsResultsOnOtherImagesAreCountedAndNoneAtAllIsAnError) {
  const auto notes = [](const std::string& results, double min_score = 0.5) {
    const auto members = detector(results, min_score);
    std::string out;
    for (const std::string& note : members[0].notes) out += note + "\n";
    return out;
  };
  const std::string here = R"({"image_id": 1, "category_id": 1, "bbox": [10, 20, 30, 40], "score": 0.6})",
                    elsewhere = R"({"image_id": 77, "category_id": 1, "bbox": [1, 2, 3, 4], "score": 0.9})";
  EXPECT_EQ(notes("[" + here + "]"), "");
  EXPECT_NE(notes("[" + here + ", " + elsewhere + "]").find("1 of 2 results"), std::string::npos);
  EXPECT_THROW((void)detector("[" + elsewhere + "]"), DataError);
  EXPECT_NE(notes("[" + here + "]", 0.7).find("no result has a score of at least 0.7"), std::string::npos);
  EXPECT_NE(notes("[]").find("has no results"), std::string::npos);
}

TEST(Synth, ADetectorsBoxesAreClippedAndThoseOutsideLeftOut) {
  const auto members = detector(R"([
    {"image_id": 0, "category_id": 1, "bbox": [-5, 20, 30, 400], "score": 0.9},
    {"image_id": 0, "category_id": 1, "bbox": [300, 20, 30, 40], "score": 0.9},
    {"image_id": 0, "category_id": 1, "bbox": [20, -50, 30, 40], "score": 0.9}])");
  ASSERT_EQ(members[0].notes.size(), 1u);
  EXPECT_NE(members[0].notes[0].find("2 of 3 results lie outside"), std::string::npos) << members[0].notes[0];
  Random random(1, 1, 1);
  std::vector<Drawing> drawn;
  members[0].hand->draw({}, 0, random, drawn);
  ASSERT_EQ(drawn.size(), 1u);
  EXPECT_TRUE(drawn[0].box == (Box{0, 20, 25, 300}));
}

TEST(Synth, NoTwoAnnotatorsShareAName) {
  CrowdSpec spec = crowd_preset("voc-full");  // average-1 to average-10
  const auto twice = [&](const std::vector<std::string>& detectors) {
    spec.detectors.clear();
    for (const std::string& name : detectors) spec.detectors.push_back({name, "f.json", 0.5, 1});
    return name_given_twice(spec);
  };
  EXPECT_EQ(twice({"a", "b", "average-11", "average-0", "average-01", "average", "-1", "average-"}), "");
  EXPECT_EQ(twice({"a", "b", "a"}), "a");
  EXPECT_EQ(twice({"average-1"}), "average-1");
  EXPECT_EQ(twice({"average-10"}), "average-10");
  spec.groups.push_back({"average", 5, 1, skill_numbers("average")});  // goes on with 11
  EXPECT_EQ(twice({"average-15"}), "average-15");
}

TEST(Synth, TrueParametersStandAside) {
  CrowdData crowd = test::random_scenes(20, 3, 2);
  const CrowdSpec spec = crowd_preset("voc-mix");
  const auto members = make_members(spec, crowd, 2);
  const auto drawn_for = simulate_crowd(crowd, members, {2, false, 0});
  const Json aside = true_annotators(spec, members, crowd, drawn_for, 2);
  ASSERT_EQ(aside["annotators"].size(), 25u);
  EXPECT_EQ(aside["annotators"][0]["id"], "expert-1");
  EXPECT_EQ(aside["annotators"][0]["images"], 20);
  EXPECT_EQ(aside["annotators"][24]["class_accuracy"], 0.55);
  EXPECT_EQ(aside["groups"][0]["mean_confusion"].size(), 9u);
  for (const Json& who : aside["annotators"]) {
    EXPECT_GT(who["measured"]["box_iou"], who["skill"] == "expert" ? 0.8 : 0.6);
  }
}

TEST(Synth, ASpecSaysWhatIsWrongWithIt) {
  const auto error_of = [](const char* text) -> std::string {
    try {
      (void)parse_crowd_spec(Json::parse(text), "c.json");
    } catch (const UserError& e) {
      EXPECT_EQ(e.code(), ExitCode::config) << e.what();
      return e.what();
    }
    return "";
  };
  EXPECT_EQ(error_of(R"({"groups": [{"skill": "expert", "annotators": 3}]})"), "");
  EXPECT_NE(error_of(R"({"groups": [{"skill": "expert", "anotators": 3}]})").find("annotators"), std::string::npos);
  EXPECT_NE(error_of(R"({"groups": [{"skill": "expert", "coverage": 2}]})").find("c.json: groups[0].coverage"),
            std::string::npos);
  EXPECT_NE(error_of(R"({"groups": [{"skill": "mine"}]})").find("recall"), std::string::npos);
  EXPECT_NE(error_of(R"({"preset": "voc-ful"})").find("voc-full"), std::string::npos);
  EXPECT_NE(error_of("{}").find("groups"), std::string::npos);
  EXPECT_NE(error_of(R"({"preset": "voc-full", "confusion": {"kind": "relatd"}})").find("related"), std::string::npos);
  const std::pair<const char*, const char*> nonsense[] = {
      {R"({"groups": [{"skill": "expert", "annotators": 2.5}]})", "annotators: expected a whole number"},
      {R"({"groups": [{"skill": "expert", "annotators": 0}]})", "no annotators"},
      {R"({"groups": [{"skill": "expert", "annotators": 1000000}]})", "annotators"},
      {R"({"groups": [{"skill": "expert", "annotators": 600000}, {"skill": "expert", "annotators": 600000}]})",
       "at most 999999 annotators of skill 'expert', found 1200000"},
      {R"({"preset": "voc-mix", "groups": [{"skill": "expert"}]})", "choose one"},
      {R"({"preset": "voc-mx"})", "found the string \"voc-mx\"; did you mean 'voc-mix'"},
      {R"({"preset": "voc-mix", "confusion": {"kind": "related"}})", "c.json: confusion.related: expected sets"},
      {R"({"preset": "voc-mix", "confusion": {"related": [["cat"]]}})", "related[0]: expected at least two"},
      {R"({"preset": "voc-mix", "confusion": {"kind": "uniform", "related": [["cat", "dog"]]}})", "no meaning"},
      {R"({"preset": "voc-mix", "confusion": {"share": 0.5}})", "no meaning"},
      {R"({"detectors": [{"name": "y", "file": "a.json"}, {"name": "y", "file": "b.json"}]})",
       "'y' is the name of two"},
      {R"({"preset": "voc-mix", "detectors": [{"name": "expert-5", "file": "a.json"}]})", "'expert-5' is the name"}};
  for (const auto& [text, message] : nonsense) {
    EXPECT_NE(error_of(text).find(message), std::string::npos) << text << ": " << error_of(text);
  }
  EXPECT_EQ(error_of(R"({"groups": [{"skill": "expert", "annotators": 0}, {"skill": "poor"}]})"), "");
  CrowdSpec spec = crowd_preset("voc-full");
  spec.confusion.related = {{"class0", "clas1"}};
  EXPECT_THROW((void)make_members(spec, test::random_scenes(2, 3, 1), 1), DataError);
}

}  // namespace
}  // namespace bdc::host
