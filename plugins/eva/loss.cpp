#include "eva/loss.h"

#include <algorithm>
#include <limits>
#include <string>

#include "parts/soft_losses.h"

namespace eva {
namespace {

double share(const TrainedStage& trained, const bdc::plugin::SharedCounts& counts = {}) {
  return 1.0 / counts.divisor(static_cast<double>(trained.regions.target.size(0)));
}

/// Rows of regions that have a target.
Tensor rows_with_target(const TrainedStage& trained) {
  return (trained.regions.target >= 0).nonzero().squeeze(1);
}

/// |code - code of the target|_1 of those rows.
Tensor box_rows(std::size_t stage, const TrainedStage& trained, const Tensor& rows, const Tensor& targets) {
  const Tensor wanted = stage_coder(stage).encode(targets.index_select(0, trained.regions.target.index_select(0, rows)),
                                                  trained.regions.boxes.index_select(0, rows));
  return parts::smooth_l1_rows(trained.scores.deltas.index_select(0, rows), wanted, 0);
}

/// What both losses have in common: anchors and regions, drawn in the same order.
struct Drawn {
  Drawn(Network& network, const Features& features, const Tensor& boxes, const Tensor& image_index,
        const LossOptions& options) {
    const auto begin = parts::image_begin(image_index, static_cast<std::int64_t>(features.images.size()));
    anchors = parts::sample_anchors(features.rpn, boxes, begin, options.rpn);
    const auto proposals = parts::propose(features.rpn, features.images, options.proposals);
    stages = training_stages(network, features, boxes_of(proposals), boxes, begin, options.regions);
  }
  parts::AnchorSample anchors;
  std::vector<TrainedStage> stages;
};

}  // namespace

LossOptions::LossOptions() {
  proposals = {2000, 1000, 0.7, std::numeric_limits<float>::denorm_min(), /*by_probability=*/false};
  rpn.beta = 0;
  rpn.by_number_drawn = false;
  regions.positives_first = true;
}

StageLoss stage_loss(std::size_t stage, const TrainedStage& trained, const Tensor& classes, const Tensor& weights,
                     const Tensor& targets, const bdc::plugin::SharedCounts& counts) {
  const Tensor rows = rows_with_target(trained);
  const double one = share(trained, counts);
  const Tensor own = weights.defined() ? weights.index_select(0, rows) : Tensor();
  return {parts::weighted_sum(parts::soft_cross_entropy_rows(trained.scores.logits, classes), weights) * one,
          parts::weighted_sum(box_rows(stage, trained, rows, targets), own) * one};
}

std::vector<Tensor> boxes_of(const std::vector<parts::Proposals>& proposals) {
  std::vector<Tensor> out;
  for (const auto& p : proposals) out.push_back(p.boxes);
  return out;
}

bdc::plugin::LossTerms total_loss(const std::vector<StageLoss>& stages, const parts::RpnLoss& rpn) {
  bdc::plugin::LossTerms out;
  const auto add = [&](const std::string& name, const Tensor& part) {
    out.total = out.total.defined() ? out.total + part : part;
    out.parts.emplace_back(name, part.detach());
  };
  for (std::size_t s = 0; s < stages.size(); ++s) {
    add("cls" + std::to_string(s), stages[s].cls);
    add("box" + std::to_string(s), stages[s].box);
  }
  add("rpn_cls", rpn.objectness);
  add("rpn_loc", rpn.boxes);
  return out;
}

bdc::plugin::LossTerms soft_loss(Network& network, const Features& features, const bdc::plugin::Targets& targets,
                                 const LossOptions& options) {
  const Tensor rows = (targets.weights > 0).nonzero().squeeze(1);
  const auto some = [&](const Tensor& t) { return t.index_select(0, rows); };
  const Tensor boxes = some(targets.boxes), probs = some(targets.class_probs), weights = some(targets.weights);
  const Drawn drawn(network, features, boxes, some(targets.image_index), options);
  std::vector<StageLoss> stages;
  for (std::size_t s = 0; s < kStages; ++s) {
    const TrainedStage& stage = drawn.stages[s];
    const Tensor classes = parts::region_classes(probs, stage.regions.target, probs.size(1));
    const Tensor trust = parts::region_weights(weights, stage.regions.target);
    stages.push_back(stage_loss(s, stage, classes, trust, boxes, options.counts));
  }
  return total_loss(stages, parts::rpn_loss(features.rpn, drawn.anchors, boxes, weights, options.rpn));
}

bdc::plugin::LossTerms hard_loss(Network& network, const Features& features, const bdc::plugin::HardTargets& targets,
                                 const LossOptions& options) {
  const Drawn drawn(network, features, targets.boxes, targets.image_index, options);
  const std::int64_t background = network.options().classes;
  const Tensor labels =  // and one more, for background
      torch::cat({targets.labels, torch::full({1}, background, targets.labels.options())});
  std::vector<StageLoss> stages;
  for (std::size_t s = 0; s < kStages; ++s) {
    const TrainedStage& stage = drawn.stages[s];
    const Tensor& target = stage.regions.target;
    const Tensor wanted =
        labels.index_select(0, torch::where(target < 0, torch::full_like(target, labels.size(0) - 1), target));
    const Tensor rows = rows_with_target(stage);
    stages.push_back({torch::cross_entropy_loss(stage.scores.logits, wanted, {}, at::Reduction::Sum) * share(stage),
                      box_rows(s, stage, rows, targets.boxes).sum() * share(stage)});
  }
  return total_loss(stages, parts::rpn_loss(features.rpn, drawn.anchors, targets.boxes, {}, options.rpn));
}

}  // namespace eva
