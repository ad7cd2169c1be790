#pragma once

#include <cstdint>
#include <vector>

#include "bdc/metrics/coco_eval.h"

namespace bdc {

/// Detections and truth for COCO evaluation: `detections` boxes per image, a third of them near an object.
struct SimulatedDetections {
  std::vector<CocoDetection> detections;
  std::vector<CocoTruth> truth;
};
[[nodiscard]] SimulatedDetections simulate_detections(int images, int classes, int objects, int detections,
                                                      std::uint64_t seed);

}  // namespace bdc
