#pragma once

#include "parts/boxes.h"

namespace parts {

/// Ties boxes (anchors, proposals) to targets by IoU: a box takes its best target (the first of equals) when their IoU
/// is at least `high`; below `low` it is background; between it is neither.
/// low_quality: the boxes with a target's highest IoU take their best target, too, however low that is, so that every
/// target that some box touches has a box.
struct Matcher {
  double high = 0.5, low = 0.5;
  bool low_quality = false;

  /// targets: T x 4, boxes: N x 4 -> N int64: row of `targets`, or kBackground, or kNeither. T and N may be 0.
  [[nodiscard]] Tensor match(const Tensor& targets, const Tensor& boxes) const;

  static constexpr std::int64_t kBackground = -1, kNeither = -2;
};

}  // namespace parts
