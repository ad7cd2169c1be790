#pragma once

#include <algorithm>
#include <cmath>

#include "bdc/learn/learner.h"

namespace bdc {

/// The detections, or none when one of their class probabilities is not finite: a detector that has come apart says
/// nothing of the image, and must not get into sums that outlive the step.
[[nodiscard]] inline DetectedBoxes usable_detections(const DetectedBoxes& detections) {
  const auto& probs = detections.class_probs;
  const bool finite = std::all_of(probs.begin(), probs.end(), [](double p) { return std::isfinite(p); });
  return finite ? detections : DetectedBoxes{};
}

}  // namespace bdc
