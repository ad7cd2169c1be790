#include "frcnn/decode.h"

#include <torch/utils.h>

#include "frcnn/loss.h"
#include "two_stage/suppression.h"

namespace frcnn {

Sightings sightings(Network& network, const Scene& scene, const two_stage::ProposalOptions& limits,
                    const bdc::plugin::DecodeOptions& options) {
  torch::NoGradGuard no_grad;
  const auto proposals = two_stage::propose(scene.rpn, scene.sizes, limits);
  std::vector<Tensor> boxes, images;
  for (std::size_t b = 0; b < proposals.size(); ++b) {
    boxes.push_back(proposals[b].boxes);
    images.push_back(
        torch::full({boxes[b].size(0)}, static_cast<std::int64_t>(b), boxes[b].options().dtype(torch::kInt64)));
  }
  const Tensor regions = torch::cat(boxes), image = torch::cat(images);
  const RegionOutputs out = network.look(scene, regions, image);
  const auto [score, label] = out.logits.softmax(1).slice(1, 1).max(1);
  const Tensor seen = (score > options.min_score).nonzero().squeeze(1);

  std::vector<Tensor> kept;
  std::vector<two_stage::Scored> sets;
  for (std::int64_t b = 0; b < scene.batch(); ++b) {
    const Tensor rows = seen.index_select(0, (image.index_select(0, seen) == b).nonzero().squeeze(1));
    const Tensor code = two_stage::pick_codes(out.codes.index_select(0, rows), label.index_select(0, rows) + 1);
    const Tensor box = two_stage::clip_to_image(region_coder().decode(code, regions.index_select(0, rows)).squeeze(1),
                                                scene.sizes[static_cast<std::size_t>(b)]);
    const Tensor large = two_stage::rows_not_smaller(box, 1e-2);
    kept.push_back(rows.index_select(0, large));
    sets.push_back({box.index_select(0, large), score.index_select(0, kept.back())});
  }
  const auto survivors = two_stage::suppress_each(sets, options.nms_iou);
  std::vector<Tensor> final_boxes;
  for (std::size_t b = 0; b < sets.size(); ++b) {
    const Tensor best = survivors[b].slice(0, 0, options.max_per_image);
    final_boxes.push_back(sets[b].boxes.index_select(0, best));
    kept[b] = kept[b].index_select(0, best);
  }
  const Tensor rows = torch::cat(kept);
  return {torch::cat(final_boxes), score.index_select(0, rows), out.logits.slice(1, 1).index_select(0, rows),
          image.index_select(0, rows)};
}

bdc::plugin::Predictions predictions(Network& network, const Scene& scene, const two_stage::ProposalOptions& proposals,
                                     const bdc::plugin::DecodeOptions& options) {
  torch::NoGradGuard no_grad;
  const Sightings seen = sightings(network, scene, proposals, options);
  return {from_network(seen.boxes, seen.image, scene.scale), seen.scores, seen.logits.softmax(1), seen.image};
}

}  // namespace frcnn
