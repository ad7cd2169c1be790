#pragma once

/// Losses row by row, so that every caller weighs and averages as its detector does.

#include "parts/boxes.h"

namespace parts {

/// Cross entropy with class vectors: logits, probs N x C -> N, -sum_c p_c ln softmax(z)_c.
[[nodiscard]] Tensor soft_cross_entropy_rows(const Tensor& logits, const Tensor& probs);

/// Sum over the columns of the Huber-like distance: d^2 / (2 beta) below beta, |d| - beta / 2 above; beta = 0: |d|.
/// a, b: N x 4 -> N.
[[nodiscard]] Tensor smooth_l1_rows(const Tensor& a, const Tensor& b, double beta);

/// Sum of weight * row; weights undefined: all 1.
[[nodiscard]] Tensor weighted_sum(const Tensor& rows, const Tensor& weights);

/// Class vectors of sampled regions: row i is `probs` of target[i], or all background where target[i] < 0.
/// probs: T x J, target: N int64 -> N x (J + 1). background: 0 (torchvision) or J (detectron2), the column it is in.
[[nodiscard]] Tensor region_classes(const Tensor& probs, const Tensor& target, std::int64_t background);

/// Weights of sampled regions: weights[target[i]], 1 for background (target[i] < 0). weights: T.
[[nodiscard]] Tensor region_weights(const Tensor& weights, const Tensor& target);

}  // namespace parts
