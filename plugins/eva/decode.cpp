#include "eva/decode.h"

#include "eva/loss.h"
#include "two_stage/suppression.h"

namespace eva {

bdc::plugin::Predictions predictions(Network& network, const Features& features,
                                     const two_stage::ProposalOptions& proposals,
                                     const bdc::plugin::DecodeOptions& options) {
  torch::NoGradGuard no_grad;
  const Verdict verdict =
      judge(network, features, boxes_of(two_stage::propose(features.rpn, features.images, proposals)));
  const Tensor probs = verdict.mean_probs().slice(1, 0, network.options().classes);
  const Tensor score = std::get<0>(probs.max(1));
  const Tensor size = verdict.boxes.slice(1, 2) - verdict.boxes.slice(1, 0, 2);
  const Tensor good = (score > options.min_score) & (size > 0).all(1);  // not a number is neither
  std::vector<two_stage::Scored> sets;
  std::vector<Tensor> rows;
  for (std::size_t b = 0; b < features.images.size(); ++b) {
    const std::int64_t first = verdict.begin[b];
    rows.push_back(good.slice(0, first, verdict.begin[b + 1]).nonzero().squeeze(1) + first);
    sets.push_back({verdict.boxes.index_select(0, rows.back()), score.index_select(0, rows.back())});
  }
  const auto kept = two_stage::suppress_each(sets, options.nms_iou);
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

}  // namespace eva
