#include "yolov7/loss.h"

#include <torch/nn.h>

#include <algorithm>
#include <cmath>

namespace yolov7 {
namespace {

constexpr double kPi = 3.14159265358979323846;

Tensor zero(const Heads& heads) {
  return torch::zeros({}, heads.levels.at(0).raw.options());
}

/// The pairs whose row no later pair has, as places in the list.
Tensor last_of_each_row(const Tensor& row) {
  const auto [sorted, order] = row.sort(/*stable=*/true, /*dim=*/0, /*descending=*/false);
  const std::int64_t n = row.size(0);
  Tensor last = torch::ones({n}, row.options().dtype(torch::kBool));
  if (n > 1) last.slice(0, 0, n - 1).copy_(sorted.slice(0, 1) != sorted.slice(0, 0, n - 1));
  return order.index({last});
}

/// What turns means over this rank's pairs and rows into its part of those over all ranks' (SharedCounts). All 1 in one
/// process.
struct Shares {
  Shares(const Heads& heads, const std::vector<Pairs>& assigned, const bdc::plugin::SharedCounts& counts)
      : pairs(assigned.size(), 1.0), batch(heads.batch) {
    if (counts.is_alone()) return;
    std::vector<double> own;
    for (const Pairs& p : assigned) own.push_back(static_cast<double>(p.row.size(0)));
    own.push_back(static_cast<double>(heads.batch));
    const std::vector<double> divisors = counts.divisors(own);
    for (std::size_t l = 0; l < pairs.size(); ++l) pairs[l] = own[l] / divisors[l];
    images = own.back() / divisors.back();
    batch = std::llround(divisors.back() * counts.ranks());
  }
  std::vector<double> pairs;  ///< by level
  double images = 1;
  std::int64_t batch;  ///< images of all ranks
};

/// t * share, and t itself in one process.
Tensor shared(const Tensor& t, double share) {
  return share == 1.0 ? t : t * share;
}

std::vector<Pairs> assign(const Heads& heads, const LossOptions& options, const Tensor& boxes,
                          const Tensor& image_index, const ClassFit& class_fit) {
  return options.assigner == Assigner::plain ? candidates(heads, boxes, image_index)
                                             : assign_optimal_transport(heads, boxes, image_index, class_fit, boxes);
}

}  // namespace

Tensor complete_iou_rows(const Tensor& a, const Tensor& b) {
  constexpr double eps = 1e-7;
  const Tensor ca = to_corners(a), cb = to_corners(b);
  const Tensor a_low = ca.slice(1, 0, 2), a_high = ca.slice(1, 2, 4), b_low = cb.slice(1, 0, 2),
               b_high = cb.slice(1, 2, 4);
  const Tensor inter = (torch::min(a_high, b_high) - torch::max(a_low, b_low)).clamp_min(0).prod(1);
  const auto width = [](const Tensor& low, const Tensor& high) { return (high - low).select(1, 0); };
  const auto height = [](const Tensor& low, const Tensor& high) { return (high - low).select(1, 1) + eps; };
  const Tensor wa = width(a_low, a_high), ha = height(a_low, a_high), wb = width(b_low, b_high),
               hb = height(b_low, b_high);
  const Tensor iou = inter / (wa * ha + wb * hb - inter + eps);
  const Tensor hull = (torch::max(a_high, b_high) - torch::min(a_low, b_low)).square().sum(1) + eps;
  const Tensor apart = (b_low + b_high - a_low - a_high).square().sum(1) / 4;
  const Tensor aspect = (torch::atan(wb / hb) - torch::atan(wa / ha)).square() * (4 / (kPi * kPi));
  const Tensor trade = (aspect / (aspect - iou + (1 + eps))).detach();
  return iou - (apart / hull + aspect * trade);
}

PairTerms pair_terms(const Level& level, const Pairs& pairs, const Tensor& boxes) {
  const Tensor raw = level.raw.index_select(0, pairs.row);
  const Place place = place_of(level, pairs.row);
  // In cells, relative to the pair's cell: small numbers keep their digits.
  const Tensor s = raw.slice(1, 0, 4).sigmoid() * 2;
  const Tensor mine =
      torch::cat({s.slice(1, 0, 2) - 0.5, s.slice(1, 2, 4).square() * (place.anchor / level.stride)}, 1);
  const Tensor wanted = to_centres(boxes.index_select(0, pairs.target)) / level.stride;
  const Tensor theirs = torch::cat({wanted.slice(1, 0, 2) - place.cell, wanted.slice(1, 2, 4)}, 1);
  return {complete_iou_rows(mine, theirs), raw.slice(1, 5)};
}

Tensor objectness_loss(const Level& level, const Pairs& pairs, const Tensor& ciou, const Tensor& weights) {
  const Tensor logits = level.raw.select(1, 4);
  Tensor wanted = torch::zeros_like(logits, torch::MemoryFormat::Contiguous).detach(), trust;
  if (weights.defined()) trust = torch::ones_like(wanted);
  if (pairs.row.size(0) > 0) {
    const Tensor last = last_of_each_row(pairs.row);
    const Tensor row = pairs.row.index_select(0, last);
    wanted.index_copy_(0, row, ciou.detach().clamp_min(0).index_select(0, last));
    if (weights.defined()) trust.index_copy_(0, row, weights.index_select(0, last));
  }
  return torch::binary_cross_entropy_with_logits(logits, wanted, trust, {}, at::Reduction::Mean);
}

bdc::plugin::LossTerms total_loss(const Heads& heads, const LossOptions& options, std::int64_t batch, const Tensor& box,
                                  const Tensor& obj, const Tensor& cls) {
  const double edge = static_cast<double>(std::max(heads.input_height, heads.input_width)) / 640.0;
  const Tensor b = box * options.box_gain, o = obj * (options.obj_gain * edge * edge),
               c = cls * (options.cls_gain * static_cast<double>(heads.num_classes()) / 80.0);
  const auto part = [&](const Tensor& t) { return t.detach() * batch; };
  return {(b + o + c) * batch, {{"box", part(b)}, {"obj", part(o)}, {"cls", part(c)}}};
}

bdc::plugin::LossTerms soft_loss(const Heads& heads, const bdc::plugin::Targets& targets, const LossOptions& options) {
  const Tensor present = (targets.weights > 0).nonzero().squeeze(1);
  const auto of_present = [&](const Tensor& t) { return t.index_select(0, present); };
  const Tensor boxes = of_present(targets.boxes), probs = of_present(targets.class_probs),
               weights = of_present(targets.weights);
  const auto assigned = assign(heads, options, boxes, of_present(targets.image_index), fit_of_probs(probs));
  const Shares share(heads, assigned, options.counts);
  Tensor box = zero(heads), obj = zero(heads), cls = zero(heads);
  for (std::size_t l = 0; l < heads.levels.size(); ++l) {
    const Level& level = heads.levels[l];
    const Pairs& pairs = assigned[l];
    Tensor ciou, weight = weights.index_select(0, pairs.target);
    if (pairs.row.size(0) > 0) {
      const PairTerms terms = pair_terms(level, pairs, boxes);
      ciou = terms.ciou;
      box = box + shared(((1 - ciou) * weight).mean(), share.pairs[l]);
      if (heads.num_classes() > 1) {
        const Tensor mean = torch::binary_cross_entropy_with_logits(
            terms.class_logits, probs.index_select(0, pairs.target), weight.unsqueeze(1), {}, at::Reduction::Mean);
        cls = cls + shared(mean, share.pairs[l]);
      }
    }
    obj = obj + kBalance[l] * shared(objectness_loss(level, pairs, ciou, weight), share.images);
  }
  return total_loss(heads, options, share.batch, box, obj, cls);
}

bdc::plugin::LossTerms hard_loss(const Heads& heads, const bdc::plugin::HardTargets& targets,
                                 const LossOptions& options) {
  const auto assigned = assign(heads, options, targets.boxes, targets.image_index, fit_of_labels(targets.labels));
  Tensor box = zero(heads), obj = zero(heads), cls = zero(heads);
  for (std::size_t l = 0; l < heads.levels.size(); ++l) {
    const Level& level = heads.levels[l];
    const Pairs& pairs = assigned[l];
    Tensor ciou;
    if (pairs.row.size(0) > 0) {
      const PairTerms terms = pair_terms(level, pairs, targets.boxes);
      ciou = terms.ciou;
      box = box + (1 - ciou).mean();
      if (heads.num_classes() > 1) {
        // -ln sigmoid(z) for the label, -ln(1 - sigmoid(z)) = softplus(z) for the others.
        const Tensor label = targets.labels.index_select(0, pairs.target).unsqueeze(1);
        const Tensor against = torch::softplus(terms.class_logits).sum(),
                     own = terms.class_logits.gather(1, label).sum();
        cls = cls + (against - own) / terms.class_logits.numel();
      }
    }
    obj = obj + kBalance[l] * objectness_loss(level, pairs, ciou, {});
  }
  return total_loss(heads, options, heads.batch, box, obj, cls);
}

}  // namespace yolov7
