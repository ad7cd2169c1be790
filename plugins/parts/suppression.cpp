#include "parts/suppression.h"

#include <ATen/Parallel.h>
#include <torch/nn.h>
#include <torch/utils.h>

#include "parts/vision_kernels.h"

namespace parts {

std::vector<Tensor> suppress_each(const std::vector<Scored>& sets, double iou_limit) {
  std::vector<Tensor> kept(sets.size());
  const auto run = [&](std::int64_t from, std::int64_t to) {
    torch::NoGradGuard no_grad;
    for (auto i = static_cast<std::size_t>(from); i < static_cast<std::size_t>(to); ++i) {
      kept[i] = nms_anywhere(sets[i].boxes.detach(), sets[i].scores.detach(), iou_limit);
    }
  };
  const bool on_cpu = sets.empty() || sets[0].boxes.is_cpu();
  const auto count = static_cast<std::int64_t>(sets.size());
  on_cpu ? at::parallel_for(0, count, 1, run) : run(0, count);
  return kept;
}

Tensor suppress_in_groups(const Tensor& boxes, const Tensor& scores, const Tensor& group, double iou_limit) {
  if (boxes.size(0) == 0) return torch::empty({0}, group.options());
  const Tensor order = group.argsort(/*stable=*/true, 0, false);
  const Tensor counts = group.bincount();
  std::vector<Scored> sets;
  std::vector<Tensor> members;
  std::int64_t from = 0;
  const Tensor on_cpu = counts.to(torch::kCPU).contiguous();
  for (std::int64_t g = 0; g < on_cpu.numel(); ++g) {
    const std::int64_t n = on_cpu.data_ptr<std::int64_t>()[g];
    if (n == 0) continue;
    const Tensor rows = order.slice(0, from, from + n);
    members.push_back(rows);
    sets.push_back({boxes.index_select(0, rows), scores.index_select(0, rows)});
    from += n;
  }
  std::vector<Tensor> kept = suppress_each(sets, iou_limit);
  for (std::size_t s = 0; s < kept.size(); ++s) kept[s] = members[s].index_select(0, kept[s]);
  const Tensor rows = torch::cat(kept);
  const Tensor best_first = scores.index_select(0, rows).argsort(/*stable=*/true, 0, /*descending=*/true);
  return rows.index_select(0, best_first);
}

}  // namespace parts
