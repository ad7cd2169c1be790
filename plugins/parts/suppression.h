#pragma once

#include "parts/boxes.h"

namespace parts {

/// One set of boxes to suppress on its own: boxes N x 4, scores N.
struct Scored {
  Tensor boxes, scores;
};

/// Non-maximum suppression of every set by itself, sets in parallel: per set the rows kept, best first.
[[nodiscard]] std::vector<Tensor> suppress_each(const std::vector<Scored>& sets, double iou_limit);

/// Suppression inside groups (classes, levels): rows kept of all groups together, best first; of equal scores the
/// lower group first. group: N int64.
[[nodiscard]] Tensor suppress_in_groups(const Tensor& boxes, const Tensor& scores, const Tensor& group,
                                        double iou_limit);

}  // namespace parts
