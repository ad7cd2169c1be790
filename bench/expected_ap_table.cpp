// bdc-expected-ap: AP of simulated detectors against the truth, and what is expected of it without truth; the table of
// docs/judging.md.   bdc-expected-ap [--labels] [--seeds 1-1] [--images 400] [--crowds a,b]
// --labels: the same of the consensus itself, as `plan` says it; docs/plan.md.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <exception>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "bdc/learn/judge/expected_ap.h"
#include "bdc/learn/learners.h"
#include "bdc/metrics/aggregation_ap.h"
#include "support/random_scenes.h"
#include "synth/simulate.h"

namespace {

using namespace bdc;

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts;
  std::stringstream stream(text);
  for (std::string part; std::getline(stream, part, ',');) parts.push_back(part);
  return parts;
}

CrowdData make_crowd(const std::string& name, int images, std::uint64_t seed) {
  host::CrowdSpec spec;
  double empty = 0;
  std::size_t classes = 20;
  if (name == "mostly-empty") {
    const auto group = [](const std::string& skill, host::SkillNumbers numbers) {
      host::GroupSpec out;
      out.skill = skill;
      out.annotators = 4;
      out.coverage = 0.25;
      out.numbers = numbers;
      return out;
    };
    spec.groups = {group("careful", {0.85, 0.05, 0.85, 0.08}), group("usual", {0.7, 0.1, 0.75, 0.1}),
                   group("hasty", {0.5, 0.15, 0.65, 0.12})};
    empty = 0.7;
    classes = 14;
  } else {
    spec.groups = host::crowd_preset(name).groups;
    if (name == "noisy") classes = 10;
  }
  CrowdData crowd = test::random_scenes(static_cast<std::size_t>(std::lround(images * (1 - empty))), classes, seed);
  if (empty > 0) (void)host::add_empty_images(crowd, empty);
  host::SimulateSettings settings;
  settings.seed = seed;
  settings.cover_all = true;
  (void)host::simulate_crowd(crowd, host::make_members(spec, crowd, seed), settings);
  return crowd;
}

struct Skill {
  const char* name;
  double recall, spurious, accuracy, noise;
};

/// A detector of this skill. Its scores tell real boxes from others, and right classes from wrong, but not perfectly.
Predictions detect(const CrowdData& scenes, const Skill& skill, std::uint64_t seed) {
  const std::size_t J = scenes.classes.size();
  host::SimulatedAnnotator numbers;
  numbers.recall = skill.recall;
  numbers.spurious_rate = skill.spurious;
  numbers.class_accuracy = skill.accuracy;
  numbers.noise.fill(skill.noise);
  const auto hand = host::make_parametric_hand(numbers, false, {}, J);
  Predictions out;
  out.num_classes = static_cast<int>(J);
  out.begin.push_back(0);
  for (std::size_t i = 0; i < scenes.images.size(); ++i) {
    Random random(seed, 99, i);
    std::vector<host::Drawing> drawings;
    hand->draw(scenes, i, random, drawings);
    struct One {
      double score;
      host::Drawing drawing;
    };
    std::vector<One> found;
    for (const host::Drawing& d : drawings) {
      const bool right = d.object >= 0 && scenes.truth[static_cast<std::size_t>(d.object)].label == d.label;
      const double at = (right ? 1.2 : d.object >= 0 ? 0.3 : -1.0) + random.normal();
      found.push_back({1 / (1 + std::exp(-at)), d});
    }
    std::stable_sort(found.begin(), found.end(), [](const One& a, const One& b) { return a.score > b.score; });
    for (const One& one : found) {
      out.box.push_back(one.drawing.box);
      out.score.push_back(one.score);
      for (std::size_t j = 0; j < J; ++j) {
        const double rest = (1 - one.score) / static_cast<double>(J);
        out.class_probs.push_back(rest + (static_cast<std::size_t>(one.drawing.label) == j ? one.score : 0.0));
      }
    }
    out.begin.push_back(out.box.size());
  }
  return out;
}

/// Leaves so many looks of random people at every image.
void keep_looks(CrowdData& crowd, std::size_t looks, std::uint64_t seed) {
  std::vector<std::vector<char>> kept(crowd.images.size(), std::vector<char>(crowd.annotators.size(), 0));
  for (std::size_t i = 0; i < crowd.images.size(); ++i) {
    Random random(seed, 123, i);
    std::vector<std::int32_t> people;
    for (std::size_t a = crowd.assignment_begin[i]; a < crowd.assignment_begin[i + 1]; ++a) {
      people.push_back(crowd.assignments[a].annotator);
    }
    for (std::size_t n = 0; n < looks && !people.empty(); ++n) {
      const auto at = static_cast<std::size_t>(random.below(static_cast<std::int64_t>(people.size())));
      kept[i][static_cast<std::size_t>(people[at])] = 1;
      people.erase(people.begin() + static_cast<std::ptrdiff_t>(at));
    }
  }
  const auto gone = [&](const auto& row) {
    return kept[static_cast<std::size_t>(row.image)][static_cast<std::size_t>(row.annotator)] == 0;
  };
  crowd.annotations.erase(std::remove_if(crowd.annotations.begin(), crowd.annotations.end(), gone),
                          crowd.annotations.end());
  crowd.assignments.erase(std::remove_if(crowd.assignments.begin(), crowd.assignments.end(), gone),
                          crowd.assignments.end());
  crowd.assignments_known = true;
  crowd.finalize();
}

std::vector<CocoDetection> detections_of(const Predictions& p, const CrowdData& crowd) {
  const auto rank = rank_by_id(crowd.images);
  const auto J = static_cast<std::size_t>(p.num_classes);
  std::vector<CocoDetection> out;
  for (std::size_t i = 0; i < crowd.images.size(); ++i) {
    for (std::size_t n = p.begin[i]; n < p.begin[i + 1]; ++n) {
      const auto row = p.class_probs.begin() + static_cast<std::ptrdiff_t>(n * J);
      const Box& b = p.box[n];
      out.push_back({{b.x1, b.y1, b.width(), b.height()},
                     p.score[n],
                     rank[i],
                     static_cast<std::int32_t>(std::max_element(row, row + static_cast<std::ptrdiff_t>(J)) - row)});
    }
  }
  return out;
}

/// AP of the consensus, as `plan` says it, with few looks at each image.
int run_labels(const std::vector<std::string>& crowds, int first, int last, int images) {
  int covered = 0, all = 0;
  std::printf(
      "| crowd | seed | AP against truth | expected | interval | correction | holds "
      "|\n|---|---|---|---|---|---|---|\n");
  for (const std::string& name : crowds) {
    for (int seed = first; seed <= last; ++seed) {
      CrowdData crowd = make_crowd(name, images, static_cast<std::uint64_t>(seed));
      if (name != "mostly-empty") keep_looks(crowd, name == "noisy" ? 5 : 3, static_cast<std::uint64_t>(seed));
      FitInput input;
      input.crowd = &crowd;
      input.threads = 1;
      const FitResult fit = make_learner("absence_aware")->fit(input);
      ExpectedApSettings settings;
      settings.threads = 1;
      const ExpectedAp e = judge_labels(crowd, fit, settings);
      const double truth = evaluate_targets(fit.targets, crowd).stats[0];
      const bool holds = e.ap.low <= truth && truth <= e.ap.high;
      covered += holds ? 1 : 0;
      ++all;
      std::printf("| %s | %d | %.1f | %.1f | %.1f to %.1f | %.1f | %s |\n", name.c_str(), seed, 100 * truth,
                  100 * e.ap.mean, 100 * e.ap.low, 100 * e.ap.high, 100 * e.correction, holds ? "yes" : "no");
      std::fflush(stdout);
    }
  }
  std::printf("\n%d of %d intervals hold the AP against truth\n", covered, all);
  return 0;
}

int run(const std::vector<std::string>& crowds, int first, int last, int images) {
  const std::vector<Skill> skills{{"weak", 0.5, 1.0, 0.5, 0.12},
                                  {"fair", 0.7, 0.6, 0.7, 0.08},
                                  {"good", 0.85, 0.4, 0.85, 0.05},
                                  {"strong", 0.95, 0.2, 0.93, 0.03},
                                  {"misses", 0.6, 0.1, 0.95, 0.04}};
  int covered = 0, all = 0;
  std::printf(
      "| crowd | detector | AP against truth | expected | interval | draws, existence, classes, boxes, correction | "
      "holds |\n"
      "|---|---|---|---|---|---|---|\n");
  for (const std::string& name : crowds) {
    for (int seed = first; seed <= last; ++seed) {
      const CrowdData crowd = make_crowd(name, images, static_cast<std::uint64_t>(seed));
      for (const Skill& skill : skills) {
        const Predictions predictions = detect(crowd, skill, static_cast<std::uint64_t>(seed));
        ExpectedApSettings settings;
        settings.threads = 1;
        const auto detections = detections_of(predictions, crowd);
        const ExpectedAp e = judge_detector(crowd, predictions, detections, settings).expected;
        const double truth =
            coco_evaluate(detections, coco_truth(crowd), crowd.images.size(), crowd.classes.size()).stats[0];
        const bool holds = e.ap.low <= truth && truth <= e.ap.high;
        covered += holds ? 1 : 0;
        ++all;
        std::printf("| %s | %s | %.1f | %.1f | %.1f to %.1f | %.1f, %.1f, %.1f, %.1f, %.1f | %s |\n", name.c_str(),
                    skill.name, 100 * truth, 100 * e.ap.mean, 100 * e.ap.low, 100 * e.ap.high, 100 * e.draws,
                    100 * e.existence, 100 * e.classes, 100 * e.boxes, 100 * e.correction, holds ? "yes" : "no");
        std::fflush(stdout);
      }
    }
  }
  std::printf("\n%d of %d intervals hold the AP against truth\n", covered, all);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    std::vector<std::string> crowds{"voc-full", "voc-mix", "noisy", "mostly-empty"};
    int first = 1, last = 1, images = 400;
    const bool labels = argc > 1 && std::string(argv[1]) == "--labels";
    for (int i = labels ? 2 : 1; i + 1 < argc; i += 2) {
      const std::string name = argv[i], value = argv[i + 1];
      if (name == "--crowds") {
        crowds = split(value);
      } else if (name == "--seeds") {
        const std::size_t dash = value.find('-');
        first = std::stoi(value);
        last = dash == std::string::npos ? first : std::stoi(value.substr(dash + 1));
      } else if (name == "--images") {
        images = std::stoi(value);
      } else {
        throw std::invalid_argument("unknown option " + name);
      }
    }
    return labels ? run_labels(crowds, first, last, images) : run(crowds, first, last, images);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "bdc-expected-ap: %s\n", e.what());
    return 1;
  }
}
