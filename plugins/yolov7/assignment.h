#pragma once

/// Which rows of the heads answer for which targets.

#include <cstdint>
#include <functional>
#include <vector>

#include "yolov7/heads.h"

namespace yolov7 {

/// Pairs of one level: row answers for target. A row may occur more than once.
struct Pairs {
  Tensor row;     ///< N int64, rows of the level
  Tensor target;  ///< N int64
};

/// Every row that could answer for a target, per level: the anchors whose width and height are within a factor of 4 of
/// the box's, in the cell of the box's centre and in the two cells next to it that are nearest to the centre.
/// boxes: T x 4 xyxy, pixels; image_index: T int64. Order inside a level: cell, anchor, target.
[[nodiscard]] std::vector<Pairs> candidates(const Heads& heads, const Tensor& boxes, const Tensor& image_index);

/// How well rows fit the classes of targets: given targets (G int64) and margins (N x J), the G x N sums
/// over classes of (the target's probability of the class) * (the row's margin of the class).
using ClassFit = std::function<Tensor(const Tensor& targets, const Tensor& margins)>;
[[nodiscard]] ClassFit fit_of_probs(const Tensor& class_probs);  ///< T x J
[[nodiscard]] ClassFit fit_of_labels(const Tensor& labels);      ///< T int64

/// Optimal-transport assignment, image by image over all levels together. From `candidates`:
///   cost(g, n) = BCE(y_n, classes of g) - 3 ln(IoU(g, n) + 1e-8),   y = sqrt(sigmoid(class) sigmoid(objectness));
///   target g takes its k_g cheapest candidates, k_g = max(1, floor(sum of its 10 largest IoUs));
///   a candidate taken by several targets goes to the target of its image for which it is cheapest.
/// cost_boxes: T x 4, the boxes the IoU is taken with; `boxes`, unless a test wants to imitate another program.
[[nodiscard]] std::vector<Pairs> assign_optimal_transport(const Heads& heads, const Tensor& boxes,
                                                          const Tensor& image_index, const ClassFit& class_fit,
                                                          const Tensor& cost_boxes);

}  // namespace yolov7
