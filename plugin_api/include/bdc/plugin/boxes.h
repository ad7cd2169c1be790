#pragma once

/// Small box tools for plugin authors. Boxes are N x 4, xyxy. Everything but `suppress` is differentiable.

#include <torch/types.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace bdc::plugin {

/// Generalised IoU of boxes row by row: a, b N x 4 -> N.
[[nodiscard]] inline torch::Tensor generalized_iou_rows(const torch::Tensor& a, const torch::Tensor& b) {
  const auto corner = [](const torch::Tensor& t, int c) { return t.select(1, c); };
  const auto area = [&](const torch::Tensor& t) {
    return (corner(t, 2) - corner(t, 0)).clamp_min(0) * (corner(t, 3) - corner(t, 1)).clamp_min(0);
  };
  const auto inter_w = torch::min(corner(a, 2), corner(b, 2)) - torch::max(corner(a, 0), corner(b, 0));
  const auto inter_h = torch::min(corner(a, 3), corner(b, 3)) - torch::max(corner(a, 1), corner(b, 1));
  const auto hull_w = torch::max(corner(a, 2), corner(b, 2)) - torch::min(corner(a, 0), corner(b, 0));
  const auto hull_h = torch::max(corner(a, 3), corner(b, 3)) - torch::min(corner(a, 1), corner(b, 1));
  const auto inter = inter_w.clamp_min(0) * inter_h.clamp_min(0);
  const auto joint = area(a) + area(b) - inter;
  const auto hull = hull_w * hull_h;
  return inter / (joint + 1e-7) - (hull - joint) / (hull + 1e-7);
}

/// Greedy non-maximum suppression of one image's boxes, best score first (ties: lower row first). Returns the rows
/// kept, at most `limit`, as int64 on the CPU. Fast for up to a few hundred boxes; use TorchVision's nms for more.
[[nodiscard]] inline torch::Tensor suppress(const torch::Tensor& boxes, const torch::Tensor& scores, double iou_limit,
                                            std::int64_t limit) {
  const auto order = std::get<1>(scores.detach().cpu().sort(/*stable=*/true, /*dim=*/0, /*descending=*/true));
  const auto sorted = boxes.detach().cpu().to(torch::kFloat64).index_select(0, order).contiguous();
  const auto box = sorted.accessor<double, 2>();
  const auto row = order.accessor<std::int64_t, 1>();
  std::vector<std::int64_t> kept, kept_rows;
  for (std::int64_t i = 0; i < sorted.size(0) && static_cast<std::int64_t>(kept.size()) < limit; ++i) {
    const bool covered = std::any_of(kept.begin(), kept.end(), [&](std::int64_t k) {
      const double w = std::min(box[i][2], box[k][2]) - std::max(box[i][0], box[k][0]);
      const double h = std::min(box[i][3], box[k][3]) - std::max(box[i][1], box[k][1]);
      if (w <= 0 || h <= 0) return false;
      const double joint =
          (box[i][2] - box[i][0]) * (box[i][3] - box[i][1]) + (box[k][2] - box[k][0]) * (box[k][3] - box[k][1]) - w * h;
      return w * h > iou_limit * joint;
    });
    if (covered) continue;
    kept.push_back(i);
    kept_rows.push_back(row[i]);
  }
  return torch::tensor(kept_rows, torch::kInt64);
}

}  // namespace bdc::plugin
