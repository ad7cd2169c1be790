#include "parts/soft_losses.h"

#include <torch/nn.h>

namespace parts {

Tensor soft_cross_entropy_rows(const Tensor& logits, const Tensor& probs) {
  return -(probs * torch::log_softmax(logits, 1)).sum(1);
}

Tensor smooth_l1_rows(const Tensor& a, const Tensor& b, double beta) {
  const Tensor distance =
      beta > 0 ? torch::smooth_l1_loss(a, b, at::Reduction::None, beta) : torch::l1_loss(a, b, at::Reduction::None);
  return distance.sum(1);
}

Tensor weighted_sum(const Tensor& rows, const Tensor& weights) {
  return weights.defined() ? (rows * weights).sum() : rows.sum();
}

Tensor region_classes(const Tensor& probs, const Tensor& target, std::int64_t background) {
  const std::int64_t classes = probs.size(1);
  // One more row for background, which -1 becomes the index of.
  Tensor table = torch::zeros({probs.size(0) + 1, classes + 1}, probs.options());
  const std::int64_t first = background == 0 ? 1 : 0;
  table.slice(0, 0, probs.size(0)).slice(1, first, first + classes).copy_(probs);
  table.select(0, probs.size(0)).select(0, background).fill_(1);
  return table.index_select(0, torch::where(target < 0, torch::full_like(target, probs.size(0)), target));
}

Tensor region_weights(const Tensor& weights, const Tensor& target) {
  const Tensor table = torch::cat({weights, torch::ones({1}, weights.options())});
  return table.index_select(0, torch::where(target < 0, torch::full_like(target, weights.size(0)), target));
}

}  // namespace parts
