#include "eva/decode.h"

#include "eva/loss.h"
#include "parts/suppression.h"

namespace eva {

bdc::plugin::Predictions predictions(Network& network, const Features& features,
                                     const parts::ProposalOptions& proposals,
                                     const bdc::plugin::DecodeOptions& options) {
  torch::NoGradGuard no_grad;
  const Verdict verdict = judge(network, features, boxes_of(parts::propose(features.rpn, features.images, proposals)));
  const Tensor probs = verdict.mean_probs().slice(1, 0, network.options().classes);
  const Tensor score = std::get<0>(probs.max(1));
  const Tensor size = verdict.boxes.slice(1, 2) - verdict.boxes.slice(1, 0, 2);
  const Tensor good = (score > options.min_score) & (size > 0).all(1);  // not a number is neither
  std::vector<parts::Scored> sets;
  std::vector<Tensor> rows;
  for (std::size_t b = 0; b < features.images.size(); ++b) {
    const std::int64_t first = verdict.begin[b];
    rows.push_back(good.slice(0, first, verdict.begin[b + 1]).nonzero().squeeze(1) + first);
    sets.push_back({verdict.boxes.index_select(0, rows.back()), score.index_select(0, rows.back())});
  }
  const auto kept = parts::suppress_each(sets, options.nms_iou);
  std::vector<Tensor> all, image;
  for (std::size_t b = 0; b < rows.size(); ++b) {
    all.push_back(rows[b].index_select(0, kept[b].slice(0, 0, options.max_per_image)));
    image.push_back(torch::full_like(all.back(), static_cast<std::int64_t>(b)));
  }
  const Tensor chosen = torch::cat(all);
  const Tensor mass = probs.index_select(0, chosen) + 1e-12;  // all classes ruled out: equal shares
  return {verdict.boxes.index_select(0, chosen), score.index_select(0, chosen), mass / mass.sum(1, /*keepdim=*/true),
          torch::cat(image)};
}

bdc::plugin::Detections detections(Network& network, const Features& features, const std::vector<Tensor>& proposals,
                                   const bdc::plugin::DecodeOptions& options) {
  torch::NoGradGuard no_grad;
  const Verdict verdict = judge(network, features, proposals);
  const Tensor probs = verdict.mean_probs().slice(1, 0, network.options().classes);
  const Tensor likely = (probs > options.min_score) & torch::isfinite(verdict.boxes).all(1, /*keepdim=*/true);
  std::vector<Tensor> boxes, labels, scores, image;
  for (std::size_t b = 0; b < features.images.size(); ++b) {
    const std::int64_t from = verdict.begin[b], to = verdict.begin[b + 1];
    const Tensor sure = likely.slice(0, from, to).nonzero();
    const Tensor row = sure.select(1, 0) + from, label = sure.select(1, 1);
    const Tensor box = verdict.boxes.index_select(0, row);
    const Tensor score = probs.reshape({-1}).index_select(0, row * probs.size(1) + label);
    const Tensor best =
        parts::suppress_in_groups(box, score, label, options.nms_iou).slice(0, 0, options.max_per_image);
    boxes.push_back(box.index_select(0, best));
    labels.push_back(label.index_select(0, best));
    scores.push_back(score.index_select(0, best));
    image.push_back(torch::full_like(best, static_cast<std::int64_t>(b)));
  }
  return {torch::cat(boxes), torch::cat(labels), torch::cat(scores), torch::cat(image)};
}

}  // namespace eva
