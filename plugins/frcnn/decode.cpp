#include "frcnn/decode.h"

#include <torch/utils.h>

#include "frcnn/loss.h"
#include "parts/suppression.h"

namespace frcnn {
namespace {

constexpr double kLeastEdge = 1e-2;

/// Proposals of a batch and what the second stage says of them.
struct Looked {
  Tensor regions, image;
  RegionOutputs out;
};

Looked look_at_proposals(Network& network, const Scene& scene, const parts::ProposalOptions& limits) {
  const auto proposals = parts::propose(scene.rpn, scene.sizes, limits);
  std::vector<Tensor> boxes, images;
  for (std::size_t b = 0; b < proposals.size(); ++b) {
    boxes.push_back(proposals[b].boxes);
    images.push_back(
        torch::full({boxes[b].size(0)}, static_cast<std::int64_t>(b), boxes[b].options().dtype(torch::kInt64)));
  }
  const Tensor regions = torch::cat(boxes), image = torch::cat(images);
  return {regions, image, network.look(scene, regions, image)};
}

}  // namespace

Sightings sightings(Network& network, const Scene& scene, const parts::ProposalOptions& limits,
                    const bdc::plugin::DecodeOptions& options) {
  torch::NoGradGuard no_grad;
  const auto [regions, image, out] = look_at_proposals(network, scene, limits);
  const auto [score, label] = out.logits.softmax(1).slice(1, 1).max(1);
  const Tensor seen = (score > options.min_score).nonzero().squeeze(1);

  std::vector<Tensor> kept;
  std::vector<parts::Scored> sets;
  for (std::int64_t b = 0; b < scene.batch(); ++b) {
    const Tensor rows = seen.index_select(0, (image.index_select(0, seen) == b).nonzero().squeeze(1));
    const Tensor code = parts::pick_codes(out.codes.index_select(0, rows), label.index_select(0, rows) + 1);
    const Tensor box = parts::clip_to_image(region_coder().decode(code, regions.index_select(0, rows)).squeeze(1),
                                            scene.sizes[static_cast<std::size_t>(b)]);
    const Tensor large = parts::rows_not_smaller(box, kLeastEdge);
    kept.push_back(rows.index_select(0, large));
    sets.push_back({box.index_select(0, large), score.index_select(0, kept.back())});
  }
  const auto survivors = parts::suppress_each(sets, options.nms_iou);
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

bdc::plugin::Predictions predictions(Network& network, const Scene& scene, const parts::ProposalOptions& proposals,
                                     const bdc::plugin::DecodeOptions& options) {
  torch::NoGradGuard no_grad;
  const Sightings seen = sightings(network, scene, proposals, options);
  return {from_network(seen.boxes, seen.image, scene.scale), seen.scores, seen.logits.softmax(1), seen.image};
}

Candidates candidates(Network& network, const Scene& scene, const parts::ProposalOptions& proposals, double min_score) {
  torch::NoGradGuard no_grad;
  const auto [regions, image, out] = look_at_proposals(network, scene, proposals);
  const Tensor probs = out.logits.softmax(1).slice(1, 1);
  const Tensor every = region_coder().decode(out.codes, regions).slice(1, 1);  // N x J x 4
  const std::int64_t classes = probs.size(1);
  Candidates all;
  std::vector<Tensor> boxes, rows;
  all.begin.push_back(0);
  for (std::int64_t b = 0; b < scene.batch(); ++b) {
    const Tensor mine = (image == b).nonzero().squeeze(1);
    const Tensor likely = (probs.index_select(0, mine) > min_score).nonzero();
    Tensor row = mine.index_select(0, likely.select(1, 0)) * classes + likely.select(1, 1);
    Tensor box =
        parts::clip_to_image(every.reshape({-1, 4}).index_select(0, row), scene.sizes[static_cast<std::size_t>(b)]);
    const Tensor large = parts::rows_not_smaller(box, kLeastEdge);
    boxes.push_back(box.index_select(0, large));
    rows.push_back(row.index_select(0, large));
    all.begin.push_back(all.begin.back() + large.size(0));
  }
  const Tensor chosen = torch::cat(rows), proposal = torch::floor_divide(chosen, classes);
  all.boxes = torch::cat(boxes);
  all.scores = probs.reshape({-1}).index_select(0, chosen);
  all.labels = chosen - proposal * classes;
  all.logits = out.logits.slice(1, 1).index_select(0, proposal);
  return all;
}

bdc::plugin::Detections detections(Network& network, const Scene& scene, const parts::ProposalOptions& proposals,
                                   const bdc::plugin::DecodeOptions& options) {
  torch::NoGradGuard no_grad;
  const Candidates all = candidates(network, scene, proposals, options.min_score);
  std::vector<Tensor> kept, images;
  for (std::size_t b = 0; b + 1 < all.begin.size(); ++b) {
    const auto mine = [&](const Tensor& t) { return t.slice(0, all.begin[b], all.begin[b + 1]); };
    const Tensor best = parts::suppress_in_groups(mine(all.boxes), mine(all.scores), mine(all.labels), options.nms_iou)
                            .slice(0, 0, options.max_per_image);
    kept.push_back(best + all.begin[b]);
    images.push_back(torch::full_like(best, static_cast<std::int64_t>(b)));
  }
  const Tensor rows = torch::cat(kept), image = torch::cat(images);
  return {from_network(all.boxes.index_select(0, rows), image, scene.scale), all.labels.index_select(0, rows),
          all.scores.index_select(0, rows), image};
}

}  // namespace frcnn
