#include "parts/rpn.h"

#include <torch/utils.h>

#include <algorithm>
#include <numeric>

#include "parts/modules.h"
#include "parts/soft_losses.h"
#include "parts/sparse_conv.h"
#include "parts/suppression.h"

namespace parts {
namespace {

torch::nn::Conv2d conv(torch::nn::Module& parent, const std::string& name, std::int64_t in, std::int64_t out,
                       std::int64_t kernel) {
  torch::nn::Conv2d made(torch::nn::Conv2dOptions(in, out, kernel).padding(kernel / 2));
  torch::nn::init::normal_(made->weight, 0, 0.01);
  torch::nn::init::zeros_(made->bias);
  register_at(parent, name, made.ptr());
  return made;
}

/// B x (A c) x h x w -> B x (h w A) x c
Tensor by_anchor(const Tensor& t, std::int64_t columns) {
  return t.permute({0, 2, 3, 1}).reshape({t.size(0), -1, columns});
}

}  // namespace

RpnHead::RpnHead(std::int64_t channels, std::int64_t anchors_per_cell, const RpnNames& names) {
  for (const std::string& name : names.convs) convs_.push_back(conv(*this, name, channels, channels, 3));
  objectness_ = conv(*this, names.objectness, channels, anchors_per_cell, 1);
  deltas_ = conv(*this, names.deltas, channels, 4 * anchors_per_cell, 1);
}

RpnHead::Raw RpnHead::forward(const std::vector<Tensor>& features) {
  Raw out;
  for (const Tensor& level : features) {
    Tensor t = level;
    for (auto& c : convs_) t = conv3x3_sparse_gradient(t, c->weight, c->bias).relu_();
    out.objectness.push_back(objectness_(t));
    out.deltas.push_back(deltas_(t));
  }
  return out;
}

RpnOutputs flatten(const RpnHead::Raw& raw, const Tensor& anchors) {
  std::vector<Tensor> objectness, deltas;
  RpnOutputs out;
  for (std::size_t l = 0; l < raw.objectness.size(); ++l) {
    objectness.push_back(by_anchor(raw.objectness[l], 1).squeeze(2));
    deltas.push_back(by_anchor(raw.deltas[l], 4));
    out.level.push_back(objectness.back().size(1));
  }
  out.objectness = at_least_float32(torch::cat(objectness, 1));
  out.deltas = at_least_float32(torch::cat(deltas, 1));
  out.anchors = anchors;
  return out;
}

std::vector<Proposals> propose(const RpnOutputs& rpn, const std::vector<ImageSize>& images,
                               const ProposalOptions& options, const BoxCoder& coder) {
  torch::NoGradGuard no_grad;
  const Tensor objectness = rpn.objectness.detach(), deltas = rpn.deltas.detach();
  const std::int64_t batch = objectness.size(0), levels = static_cast<std::int64_t>(rpn.level.size());
  std::vector<Scored> sets;  // image by image, level by level
  std::vector<Tensor> set_logits;
  for (std::int64_t b = 0; b < batch; ++b) {
    std::int64_t from = 0;
    for (const std::int64_t count : rpn.level) {
      const auto [logit, place] =
          objectness.select(0, b).slice(0, from, from + count).topk(std::min(count, options.before_suppression), 0);
      const Tensor rows = place + from;
      const Tensor boxes = clip_to_image(
          coder.decode(deltas.select(0, b).index_select(0, rows), rpn.anchors.index_select(0, rows)).squeeze(1),
          images[static_cast<std::size_t>(b)]);
      const Tensor large = rows_not_smaller(boxes, options.min_size);
      const Tensor logits = logit.index_select(0, large);
      sets.push_back({boxes.index_select(0, large), options.by_probability ? logits.sigmoid() : logits});
      set_logits.push_back(logits);
      from += count;
    }
  }
  const std::vector<Tensor> kept = suppress_each(sets, options.nms_iou);
  std::vector<Proposals> out;
  for (std::int64_t b = 0; b < batch; ++b) {
    std::vector<Tensor> boxes, scores, logits;
    for (auto s = static_cast<std::size_t>(b * levels); s < static_cast<std::size_t>((b + 1) * levels); ++s) {
      boxes.push_back(sets[s].boxes.index_select(0, kept[s]));
      scores.push_back(sets[s].scores.index_select(0, kept[s]));
      logits.push_back(set_logits[s].index_select(0, kept[s]));
    }
    const Tensor best =
        torch::cat(scores).argsort(/*stable=*/true, 0, /*descending=*/true).slice(0, 0, options.after_suppression);
    out.push_back({torch::cat(boxes).index_select(0, best), torch::cat(logits).index_select(0, best)});
  }
  return out;
}

AnchorSample sample_anchors(const RpnOutputs& rpn, const Tensor& targets, const std::vector<std::int64_t>& begin,
                            const RpnLossOptions& options) {
  torch::NoGradGuard no_grad;
  const std::int64_t count = rpn.anchors.size(0);
  std::vector<Tensor> positive, negative, target;
  for (std::size_t b = 0; b + 1 < begin.size(); ++b) {
    const Tensor matches = options.matcher.match(targets.slice(0, begin[b], begin[b + 1]), rpn.anchors);
    const auto drawn = options.sampler.draw(matches);
    const std::int64_t first = static_cast<std::int64_t>(b) * count;
    positive.push_back(drawn.positive + first);
    negative.push_back(drawn.negative + first);
    target.push_back(matches.index_select(0, drawn.positive) + begin[b]);
  }
  return {torch::cat(positive), torch::cat(negative), torch::cat(target)};
}

RpnLoss rpn_loss(const RpnOutputs& rpn, const AnchorSample& sample, const Tensor& targets, const Tensor& weights,
                 const RpnLossOptions& options, const BoxCoder& coder) {
  const std::int64_t positives = sample.positive.size(0), drawn = positives + sample.negative.size(0);
  const std::int64_t divisor = options.by_number_drawn ? drawn : options.sampler.per_image * rpn.objectness.size(0);
  const double share = 1.0 / options.counts.divisor(static_cast<double>(divisor));

  const Tensor logits = rpn.objectness.flatten().index_select(0, torch::cat({sample.positive, sample.negative}));
  Tensor wanted = torch::zeros_like(logits).detach();
  wanted.slice(0, 0, positives).fill_(1);
  const Tensor rows = torch::binary_cross_entropy_with_logits(logits, wanted, {}, {}, at::Reduction::None);
  Tensor trust, weight;
  if (weights.defined()) {
    weight = weights.index_select(0, sample.target);
    trust = torch::cat({weight, torch::ones({drawn - positives}, weight.options())});
  }
  const Tensor anchors = rpn.anchors.index_select(0, torch::remainder(sample.positive, rpn.anchors.size(0)));
  const Tensor codes = coder.encode(targets.index_select(0, sample.target), anchors);
  const Tensor deltas = rpn.deltas.view({-1, 4}).index_select(0, sample.positive);
  return {weighted_sum(rows, trust) * share, weighted_sum(smooth_l1_rows(deltas, codes, options.beta), weight) * share};
}

}  // namespace parts
