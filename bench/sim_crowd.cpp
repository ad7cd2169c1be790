#include "sim_crowd.h"

#include <algorithm>
#include <map>

#include "support/random_scenes.h"
#include "synth/draws.h"
#include "synth/random_box.h"
#include "synth/simulate.h"

namespace bdc {
namespace {

constexpr std::uint64_t kDetectorStream = 20;

struct Prediction {
  Box box;
  double score;
  std::vector<double> class_probs;
};

/// Dirichlet(concentration) scaled by `rest`, plus `own` on the label, normalised.
Prediction predicted(const Box& box, double concentration, double rest, std::int32_t label, double own, int classes,
                     Random& random) {
  std::vector<double> p =
      host::draw_dirichlet(std::vector<double>(static_cast<std::size_t>(classes), concentration), random);
  for (double& value : p) value *= rest / (rest + own);
  p[static_cast<std::size_t>(label)] += own / (rest + own);
  const double score = *std::max_element(p.begin(), p.end());
  return {box, score, std::move(p)};
}

/// A detector with a sure hand that finds 92 % of the objects, names 85 % of them with confidence and the rest without,
/// and sees 0.3 more in an image.
Predictions detect(const CrowdData& scenes, std::uint64_t seed) {
  const auto classes = static_cast<int>(scenes.classes.size());
  host::SimulatedAnnotator numbers;
  numbers.recall = 0.92;
  numbers.spurious_rate = 0.3;
  numbers.class_accuracy = 1;
  numbers.noise.fill(0.03);
  const auto hand = host::make_parametric_hand(numbers, false, {}, scenes.classes.size());
  Predictions out;
  out.num_classes = classes;
  out.begin.push_back(0);
  for (std::size_t i = 0; i < scenes.images.size(); ++i) {
    Random random(seed, kDetectorStream, i);
    std::vector<host::Drawing> drawings;
    hand->draw(scenes, i, random, drawings);
    std::vector<Prediction> found;
    for (const host::Drawing& d : drawings) {
      found.push_back(d.object >= 0
                          ? predicted(d.box, 0.3, 0.2, d.label, random.uniform() < 0.85 ? 0.8 : 0, classes, random)
                          : predicted(d.box, 0.5, 1, d.label, 0, classes, random));
    }
    if (found.empty()) {
      const Box anywhere = host::random_box(scenes.images[i].width, scenes.images[i].height, random);
      found.push_back(predicted(anywhere, 1e3, 1, 0, 0, classes, random));
    }
    std::stable_sort(found.begin(), found.end(),
                     [](const Prediction& a, const Prediction& b) { return a.score > b.score; });
    for (const Prediction& one : found) {
      out.box.push_back(one.box);
      out.score.push_back(one.score);
      out.class_probs.insert(out.class_probs.end(), one.class_probs.begin(), one.class_probs.end());
    }
    out.begin.push_back(out.box.size());
  }
  return out;
}

}  // namespace

SimulatedCrowdOptions simulated_preset(const std::string& name) {
  SimulatedCrowdOptions out;
  out.groups = host::crowd_preset(name).groups;
  const std::map<std::string, int> classes{{"coco-full", 80}, {"coco-mix", 80}, {"noisy", 10}};
  if (const auto known = classes.find(name); known != classes.end()) out.classes = known->second;
  return out;
}

BenchCrowd simulate_crowd(const SimulatedCrowdOptions& options) {
  BenchCrowd out;
  out.crowd = test::random_scenes(static_cast<std::size_t>(options.images), static_cast<std::size_t>(options.classes),
                                  options.seed);
  if (options.with_predictions) out.predictions = detect(out.crowd, options.seed);
  host::CrowdSpec spec;
  spec.groups = options.groups;
  const auto members = host::make_members(spec, out.crowd, options.seed);
  host::SimulateSettings settings;
  settings.seed = options.seed;
  settings.cover_all = true;
  settings.threads = 1;  // leaves no memory in other threads' arenas
  (void)host::simulate_crowd(out.crowd, members, settings);
  if (!options.with_truth) {
    out.crowd.truth = {};
    out.crowd.has_truth = false;
    out.crowd.finalize();
  }
  return out;
}

}  // namespace bdc
