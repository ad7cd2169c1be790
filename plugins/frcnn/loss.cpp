#include "frcnn/loss.h"

#include <torch/utils.h>

#include <algorithm>

#include "two_stage/soft_losses.h"

namespace frcnn {
namespace {

constexpr double kBeta = 1.0 / 9;

std::vector<Tensor> boxes_of(const std::vector<two_stage::Proposals>& proposals) {
  std::vector<Tensor> out;
  for (const auto& p : proposals) out.push_back(p.boxes);
  return out;
}

double share_of(const Tensor& rows) {
  return 1.0 / static_cast<double>(std::max<std::int64_t>(1, rows.size(0)));
}

/// Both stages' samples, drawn in this order: anchors, then regions.
struct Samples {
  two_stage::AnchorSample anchors;
  two_stage::Regions regions;
};

Samples draw(const Scene& scene, const Labels& labels, const LossOptions& options) {
  Samples out;
  out.anchors = two_stage::sample_anchors(scene.rpn, labels.boxes, labels.begin, options.rpn);
  out.regions = two_stage::sample_regions(boxes_of(two_stage::propose(scene.rpn, scene.sizes, options.proposals)),
                                          labels.boxes, labels.begin, options.regions);
  return out;
}

bdc::plugin::LossTerms total(const two_stage::RpnLoss& rpn, const RegionLoss& regions) {
  return {rpn.objectness + rpn.boxes + regions.classifier + regions.boxes,
          {{"objectness", rpn.objectness.detach()},
           {"rpn_box_reg", rpn.boxes.detach()},
           {"classifier", regions.classifier.detach()},
           {"box_reg", regions.boxes.detach()}}};
}

}  // namespace

const two_stage::BoxCoder& region_coder() {
  static const two_stage::BoxCoder coder{{10, 10, 5, 5}};
  return coder;
}

Labels labels_of(const Scene& scene, const Tensor& boxes, const Tensor& image_index, const Tensor& weights) {
  torch::NoGradGuard no_grad;
  const Tensor mapped = to_network(boxes, image_index, scene.scale);
  Labels out;
  out.rows = two_stage::rows_not_smaller(mapped, 1e-3);
  if (weights.defined())
    out.rows = out.rows.index_select(0, (weights.index_select(0, out.rows) > 0).nonzero().squeeze(1));
  out.boxes = mapped.index_select(0, out.rows);
  out.begin = two_stage::image_begin(image_index.index_select(0, out.rows), scene.batch());
  return out;
}

RegionLoss region_loss(const RegionOutputs& out, const two_stage::Regions& regions, const Tensor& target_boxes,
                       const Tensor& classes, const Tensor& weights) {
  const double share = share_of(regions.boxes);
  const Tensor objects = (regions.target >= 0).nonzero().squeeze(1);
  const auto of_objects = [&](const Tensor& t) { return t.index_select(0, objects); };
  const Tensor codes = two_stage::pick_codes(of_objects(out.codes), of_objects(classes).argmax(1));
  const Tensor wanted =
      region_coder().encode(target_boxes.index_select(0, of_objects(regions.target)), of_objects(regions.boxes));
  return {two_stage::weighted_sum(two_stage::soft_cross_entropy_rows(out.logits, classes), weights) * share,
          two_stage::weighted_sum(two_stage::smooth_l1_rows(codes, wanted, kBeta), of_objects(weights)) * share};
}

bdc::plugin::LossTerms soft_loss(Network& network, const Scene& scene, const bdc::plugin::Targets& targets,
                                 const LossOptions& options) {
  const Labels labels = labels_of(scene, targets.boxes, targets.image_index, targets.weights);
  const Tensor weights = targets.weights.index_select(0, labels.rows),
               probs = targets.class_probs.index_select(0, labels.rows);
  const Samples drawn = draw(scene, labels, options);
  const auto rpn = two_stage::rpn_loss(scene.rpn, drawn.anchors, labels.boxes, weights, options.rpn);
  const auto& regions = drawn.regions;
  const auto region = region_loss(network.look(scene, regions.boxes, regions.image()), regions, labels.boxes,
                                  two_stage::region_classes(probs, regions.target, 0),
                                  two_stage::region_weights(weights, regions.target));
  return total(rpn, region);
}

bdc::plugin::LossTerms hard_loss(Network& network, const Scene& scene, const bdc::plugin::HardTargets& targets,
                                 const LossOptions& options) {
  const Labels labels = labels_of(scene, targets.boxes, targets.image_index, {});
  const Samples drawn = draw(scene, labels, options);
  const auto rpn = two_stage::rpn_loss(scene.rpn, drawn.anchors, labels.boxes, {}, options.rpn);
  const auto& regions = drawn.regions;
  const RegionOutputs out = network.look(scene, regions.boxes, regions.image());

  // Background is class 0, so a target's label is one more; row 0 of the table is for background's -1.
  const Tensor table =
      torch::cat({torch::zeros({1}, targets.labels.options()), targets.labels.index_select(0, labels.rows) + 1});
  const Tensor label = table.index_select(0, regions.target.clamp_min(-1) + 1);
  RegionLoss region;
  region.classifier =
      torch::nll_loss(torch::log_softmax(out.logits, 1), label, {}, at::Reduction::Sum) * share_of(regions.boxes);
  const Tensor objects = (label > 0).nonzero().squeeze(1);
  const auto of_objects = [&](const Tensor& t) { return t.index_select(0, objects); };
  const Tensor wanted =
      region_coder().encode(labels.boxes.index_select(0, of_objects(regions.target)), of_objects(regions.boxes));
  region.boxes = torch::smooth_l1_loss(two_stage::pick_codes(of_objects(out.codes), of_objects(label)), wanted,
                                       at::Reduction::Sum, kBeta) *
                 share_of(regions.boxes);
  return total(rpn, region);
}

}  // namespace frcnn
