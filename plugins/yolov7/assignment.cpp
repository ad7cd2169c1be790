#include "yolov7/assignment.h"

#include <torch/nn.h>

#include <algorithm>

#include "parts/few_numbers.h"
#include "parts/full_precision.h"

namespace yolov7 {
namespace {

constexpr double kAnchorRatio = 4.0;  // largest factor between a box's and its anchor's sides
constexpr std::int64_t kTop = 10;     // IoUs that make up a target's share
constexpr double kIouCost = 3.0;

/// G x 4 and N x 4 corners -> G x N.
Tensor pairwise_iou(const Tensor& a, const Tensor& b) {
  const auto area = [](const Tensor& t) { return (t.slice(1, 2, 4) - t.slice(1, 0, 2)).prod(1); };
  const Tensor low = torch::max(a.slice(1, 0, 2).unsqueeze(1), b.slice(1, 0, 2));
  const Tensor high = torch::min(a.slice(1, 2, 4).unsqueeze(1), b.slice(1, 2, 4));
  const Tensor inter = (high - low).clamp_min(0).prod(2);
  return inter / (area(a).unsqueeze(1) + area(b) - inter);
}

/// Candidates of the whole batch, sorted by image, then level.
struct Pool {
  Tensor level, row, image;  // N int64
  Tensor boxes;              // N x 4 corners
  Tensor margin;             // N x J: ln y - ln(1 - y)
  Tensor base;               // N: sum over classes of -ln(1 - y)
};

Pool gather(const Heads& heads, const std::vector<Pairs>& pairs) {
  std::vector<Tensor> level, row, image, boxes, scores;
  for (std::size_t l = 0; l < heads.levels.size(); ++l) {
    const Tensor rows = pairs[l].row;
    const Place place = place_of(heads.levels[l], rows);
    const Tensor raw = heads.levels[l].raw.index_select(0, rows);
    level.push_back(torch::full_like(rows, static_cast<std::int64_t>(l)));
    row.push_back(rows);
    image.push_back(place.image);
    boxes.push_back(to_corners(boxes_of(heads.levels[l], raw, place)));
    scores.push_back(raw.slice(1, 4));
  }
  const Tensor images = torch::cat(image);
  const Tensor order = std::get<1>(images.sort(/*stable=*/true, /*dim=*/0, /*descending=*/false));
  const Tensor score = torch::log_sigmoid(torch::cat(scores).index_select(0, order));
  // Kept off 1, where the logarithm of 1 - y would be infinite.
  const Tensor log_y = ((score.slice(1, 1) + score.slice(1, 0, 1)) / 2).clamp_max(-1e-7);
  const Tensor log_not_y = (-torch::expm1(log_y)).log();
  const auto sorted = [&](const std::vector<Tensor>& parts) { return torch::cat(parts).index_select(0, order); };
  return {sorted(level), sorted(row),       images.index_select(0, order),
          sorted(boxes), log_y - log_not_y, -log_not_y.sum(1)};
}

/// Of one image: cost and IoU G x N -> the candidates taken and, for each, the target (0..G-1).
std::pair<Tensor, Tensor> take_cheapest(const Tensor& cost, const Tensor& iou) {
  const std::int64_t n = cost.size(1);
  const Tensor share = std::get<0>(iou.topk(std::min(kTop, n), 1)).sum(1).to(torch::kInt64).clamp(1, n);
  const auto most = share.max().item<std::int64_t>();
  const Tensor cheapest = std::get<1>(cost.topk(most, 1, /*largest=*/false, /*sorted=*/true));
  const Tensor within = torch::arange(most, share.options()).unsqueeze(0) < share.unsqueeze(1);
  const Tensor taken = torch::zeros(cost.sizes(), share.options()).scatter_(1, cheapest, within.to(torch::kInt64));
  const Tensor claims = taken.sum(0);
  const Tensor who = torch::where(claims > 1, cost.argmin(0), taken.argmax(0));
  const Tensor picked = (claims > 0).nonzero().squeeze(1);
  return {picked, who.index_select(0, picked)};
}

}  // namespace

std::vector<Pairs> candidates(const Heads& heads, const Tensor& boxes, const Tensor& image_index) {
  torch::NoGradGuard no_grad;
  std::vector<Pairs> out;
  const Tensor pixels = to_centres(boxes);
  const Tensor size = pixels.slice(1, 2, 4);
  for (const Level& level : heads.levels) {
    const Tensor at = pixels.slice(1, 0, 2) / level.stride;  // T x 2, cells
    const Tensor extent = parts::few_numbers({static_cast<double>(level.width), static_cast<double>(level.height)}, at);
    const Tensor from_end = extent - at;
    const auto near_side = [](const Tensor& t) { return (t.remainder(1.0) < 0.5) & (t > 1.0); };
    const Tensor low = near_side(at), high = near_side(from_end);  // T x 2
    const Tensor near = torch::stack({torch::ones_like(low.select(1, 0)), low.select(1, 0), low.select(1, 1),
                                      high.select(1, 0), high.select(1, 1)});  // 5 x T
    const Tensor ratio = size.unsqueeze(0) / level.anchors.unsqueeze(1);       // 3 x T x 2
    const Tensor fits = std::get<0>(torch::max(ratio, 1 / ratio).max(2)) < kAnchorRatio;
    const Tensor found = (near.unsqueeze(1) & fits).nonzero();  // offset, anchor, target
    const Tensor anchor = found.select(1, 1), target = found.select(1, 2);
    const Tensor shift = parts::few_numbers({0.0, 0.0, 0.5, 0.0, 0.0, 0.5, -0.5, 0.0, 0.0, -0.5}, at).view({5, 2});
    const Tensor cell = (at.index_select(0, target) - shift.index_select(0, found.select(1, 0))).to(torch::kInt64);
    const Tensor x = cell.select(1, 0).clamp(0, level.width - 1), y = cell.select(1, 1).clamp(0, level.height - 1);
    const Tensor image = image_index.index_select(0, target);
    out.push_back({((image * 3 + anchor) * level.height + y) * level.width + x, target});
  }
  return out;
}

ClassFit fit_of_probs(const Tensor& class_probs) {
  return [class_probs](const Tensor& targets, const Tensor& margins) {
    return class_probs.index_select(0, targets).mm(margins.t());
  };
}

ClassFit fit_of_labels(const Tensor& labels) {
  return [labels](const Tensor& targets, const Tensor& margins) {
    return margins.index_select(1, labels.index_select(0, targets)).t();
  };
}

std::vector<Pairs> assign_optimal_transport(const Heads& heads, const Tensor& boxes, const Tensor& image_index,
                                            const ClassFit& class_fit, const Tensor& cost_boxes) {
  torch::NoGradGuard no_grad;
  const parts::FullPrecision full;
  std::vector<Pairs> found = candidates(heads, boxes, image_index);
  std::int64_t total = 0;
  for (const Pairs& pairs : found) total += pairs.row.size(0);
  if (total == 0) return found;
  const Pool pool = gather(heads, found);
  const auto counts = [&](const Tensor& images) { return torch::bincount(images, {}, heads.batch).cpu(); };
  const Tensor rows_of = counts(pool.image), targets_of = counts(image_index);
  const Tensor by_image = std::get<1>(image_index.sort(/*stable=*/true, /*dim=*/0, /*descending=*/false));

  std::vector<Tensor> picked, matched;
  std::int64_t first_row = 0, first_target = 0;
  for (std::int64_t b = 0; b < heads.batch; ++b) {
    const auto n = rows_of[b].item<std::int64_t>(), g = targets_of[b].item<std::int64_t>();
    if (n > 0 && g > 0) {
      const auto mine = [&](const Tensor& t) { return t.slice(0, first_row, first_row + n); };
      const Tensor targets = by_image.slice(0, first_target, first_target + g);
      const Tensor iou = pairwise_iou(cost_boxes.index_select(0, targets), mine(pool.boxes));
      const Tensor cost = mine(pool.base) - class_fit(targets, mine(pool.margin)) - kIouCost * (iou + 1e-8).log();
      const auto [who, target] = take_cheapest(cost, iou);
      picked.push_back(who + first_row);
      matched.push_back(targets.index_select(0, target));
    }
    first_row += n;
    first_target += g;
  }
  const Tensor pick = torch::cat(picked), target = torch::cat(matched);
  const Tensor level = pool.level.index_select(0, pick), row = pool.row.index_select(0, pick);
  for (std::size_t l = 0; l < found.size(); ++l) {
    const Tensor here = (level == static_cast<std::int64_t>(l)).nonzero().squeeze(1);
    found[l] = {row.index_select(0, here), target.index_select(0, here)};
  }
  return found;
}

}  // namespace yolov7
