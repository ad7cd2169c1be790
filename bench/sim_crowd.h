#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bdc/crowd/crowd_data.h"
#include "bdc/crowd/predictions.h"
#include "bdc/metrics/coco_eval.h"

namespace bdc {

/// Annotators of one skill: how many, and the share of images they see.
struct SkillGroup {
  enum Skill { kExpert, kAverage, kPoor, kRandom } skill;
  int annotators;
  double coverage;
};

struct SimulatedCrowdOptions {
  int images = 1000;
  int classes = 20;
  double objects_per_image = 2.5;
  std::vector<SkillGroup> groups;
  std::uint64_t seed = 1;
  bool with_predictions = true;
  bool with_truth = true;
};

/// "voc-full", "voc-mix", "coco-mix" or "noisy". Throws std::invalid_argument otherwise.
[[nodiscard]] SimulatedCrowdOptions simulated_preset(const std::string& name);

/// Scenes, annotators who miss, invent, confuse classes and draw with noise and a bias of their own, and a detector.
struct SimulatedCrowd {
  CrowdData crowd;  ///< with assignments; boxes in whole pixels
  Predictions predictions;
};
[[nodiscard]] SimulatedCrowd simulate_crowd(const SimulatedCrowdOptions& options);

/// Detections and truth for COCO evaluation: `detections` boxes per image, a third of them near an object.
struct SimulatedDetections {
  std::vector<CocoDetection> detections;
  std::vector<CocoTruth> truth;
};
[[nodiscard]] SimulatedDetections simulate_detections(int images, int classes, int objects, int detections,
                                                      std::uint64_t seed);

}  // namespace bdc
