#include "frcnn/loss.h"

#include <torch/utils.h>

#include <algorithm>

#include "parts/soft_losses.h"

namespace frcnn {
namespace {

constexpr double kBeta = 1.0 / 9;

std::vector<Tensor> boxes_of(const std::vector<parts::Proposals>& proposals) {
  std::vector<Tensor> out;
  for (const auto& p : proposals) out.push_back(p.boxes);
  return out;
}

double share_of(const Tensor& rows, const bdc::plugin::SharedCounts& counts = {}) {
  return 1.0 / counts.divisor(static_cast<double>(rows.size(0)));
}

/// Both stages' samples, drawn in this order: anchors, then regions.
struct Samples {
  parts::AnchorSample anchors;
  parts::Regions regions;
};

Samples draw(const Scene& scene, const Labels& labels, const LossOptions& options) {
  Samples out;
  out.anchors = parts::sample_anchors(scene.rpn, labels.boxes, labels.begin, options.rpn);
  out.regions = parts::sample_regions(boxes_of(parts::propose(scene.rpn, scene.sizes, options.proposals)), labels.boxes,
                                      labels.begin, options.regions);
  return out;
}

bdc::plugin::LossTerms total(const parts::RpnLoss& rpn, const RegionLoss& regions) {
  return {rpn.objectness + rpn.boxes + regions.classifier + regions.boxes,
          {{"objectness", rpn.objectness.detach()},
           {"rpn_box_reg", rpn.boxes.detach()},
           {"classifier", regions.classifier.detach()},
           {"box_reg", regions.boxes.detach()}}};
}

}  // namespace

const parts::BoxCoder& region_coder() {
  static const parts::BoxCoder coder{{10, 10, 5, 5}};
  return coder;
}

RegionLoss region_loss(const RegionOutputs& out, const parts::Regions& regions, const Tensor& target_boxes,
                       const Tensor& classes, const Tensor& weights, const bdc::plugin::SharedCounts& counts) {
  const double share = share_of(regions.boxes, counts);
  const Tensor objects = (regions.target >= 0).nonzero().squeeze(1);
  const auto of_objects = [&](const Tensor& t) { return t.index_select(0, objects); };
  const Tensor codes = parts::pick_codes(of_objects(out.codes), of_objects(classes).argmax(1));
  const Tensor wanted =
      region_coder().encode(target_boxes.index_select(0, of_objects(regions.target)), of_objects(regions.boxes));
  return {parts::weighted_sum(parts::soft_cross_entropy_rows(out.logits, classes), weights) * share,
          parts::weighted_sum(parts::smooth_l1_rows(codes, wanted, kBeta), of_objects(weights)) * share};
}

bdc::plugin::LossTerms soft_loss(Network& network, const Scene& scene, const bdc::plugin::Targets& targets,
                                 const LossOptions& options) {
  const Labels labels = labels_of(scene, targets.boxes, targets.image_index, targets.weights);
  const Tensor weights = targets.weights.index_select(0, labels.rows),
               probs = targets.class_probs.index_select(0, labels.rows);
  const Samples drawn = draw(scene, labels, options);
  const auto rpn = parts::rpn_loss(scene.rpn, drawn.anchors, labels.boxes, weights, options.rpn);
  const auto& regions = drawn.regions;
  const auto region = region_loss(network.look(scene, regions.boxes, regions.image()), regions, labels.boxes,
                                  parts::region_classes(probs, regions.target, 0),
                                  parts::region_weights(weights, regions.target), options.counts);
  return total(rpn, region);
}

bdc::plugin::LossTerms hard_loss(Network& network, const Scene& scene, const bdc::plugin::HardTargets& targets,
                                 const LossOptions& options) {
  const Labels labels = labels_of(scene, targets.boxes, targets.image_index, {});
  const Samples drawn = draw(scene, labels, options);
  const auto rpn = parts::rpn_loss(scene.rpn, drawn.anchors, labels.boxes, {}, options.rpn);
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
  region.boxes = torch::smooth_l1_loss(parts::pick_codes(of_objects(out.codes), of_objects(label)), wanted,
                                       at::Reduction::Sum, kBeta) *
                 share_of(regions.boxes);
  return total(rpn, region);
}

}  // namespace frcnn
