#include "parts/matcher.h"

#include <torch/nn.h>

#include <algorithm>

namespace parts {
namespace {

/// Entries of the IoU matrix held at a time: 16 MB a copy, however many targets and anchors there are.
constexpr std::int64_t kMostPairs = 4'000'000;

}  // namespace

Tensor Matcher::match(const Tensor& targets, const Tensor& boxes) const {
  const std::int64_t count = boxes.size(0);
  const auto options = boxes.options().dtype(torch::kInt64).requires_grad(false);
  if (targets.size(0) == 0 || count == 0) return torch::full({count}, kBackground, options);
  torch::NoGradGuard no_grad;
  const std::int64_t step = std::max<std::int64_t>(1, kMostPairs / targets.size(0));
  std::vector<Tensor> best_iou, best_target, touched;
  std::vector<Tensor> matrices;
  Tensor highest;
  for (std::int64_t from = 0; from < count; from += step) {
    const Tensor iou = iou_matrix(targets, boxes.slice(0, from, std::min(count, from + step)));
    const auto [value, target] = iou.max(0);
    best_iou.push_back(value);
    best_target.push_back(target);
    if (!low_quality) continue;
    const Tensor here = std::get<0>(iou.max(1));
    highest = highest.defined() ? torch::max(highest, here) : here;
    if (count <= step) matrices.push_back(iou);
  }
  const Tensor iou = torch::cat(best_iou), best = torch::cat(best_target);
  Tensor out = torch::where(iou < low, torch::full_like(best, kBackground), best);
  out = torch::where((iou >= low) & (iou < high), torch::full_like(best, kNeither), out);
  if (!low_quality) return out;
  // A target that no box touches has highest IoU 0; it must not take all of them.
  const Tensor wanted = torch::where(highest > 0, highest, torch::full_like(highest, 2)).unsqueeze(1);
  for (std::int64_t from = 0; from < count; from += step) {
    const Tensor matrix =
        matrices.empty() ? iou_matrix(targets, boxes.slice(0, from, std::min(count, from + step))) : matrices[0];
    touched.push_back((matrix == wanted).any(0));
  }
  return torch::where(torch::cat(touched), best, out);
}

}  // namespace parts
