#pragma once

#include <vector>

#include "bdc/crowd/crowd_data.h"

namespace bdc {

/// How much the annotators of each image disagree, in [0, 1]; 0 for images that fewer than two saw. For two annotators
/// picked at random from the n who saw the image,
///   1 - (sum over groups of P(both drew it, same class) * mean IoU) / (sum over groups of P(at least one drew it)),
/// groups being boxes that show the same object (group_by_best_overlap, normalised boxes, group_iou) and the IoU that
/// of the members with the group's median box. 0: all drew the same; 1: no two drew a common object.
[[nodiscard]] std::vector<double> image_disagreement(const CrowdData& crowd, double group_iou = 0.45, int threads = 0);

}  // namespace bdc
