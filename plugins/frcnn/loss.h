#pragma once

/// The loss of Faster R-CNN: RPN objectness and boxes (two_stage/rpn.h), and of the sampled regions, N in the batch,
///   classifier = sum_n( w_n CE(p_n, softmax(logits_n)) ) / N,
///   box_reg    = sum_foreground( w_n smooth_l1(code of the target's likeliest class, code of its box; beta 1/9) ) / N;
/// w is the weight of a region's target and 1 for background; p its class vector, background's all background.

#include <bdc/plugin/types.h>

#include "frcnn/network.h"

namespace frcnn {

struct LossOptions {
  two_stage::ProposalOptions proposals{2000, 2000, 0.7, 1e-3};
  two_stage::RpnLossOptions rpn;
  two_stage::RegionOptions regions;
};

/// Of box codes in the second stage.
[[nodiscard]] const two_stage::BoxCoder& region_coder();

/// Targets of a batch in the network's frame.
struct Labels {
  Tensor boxes;                     ///< T x 4
  Tensor rows;                      ///< T int64: which of the given targets these are
  std::vector<std::int64_t> begin;  ///< B + 1
};
/// Leaves out boxes with an edge below 0.001 pixels, and where weights are defined, those of weight 0.
[[nodiscard]] Labels labels_of(const Scene& scene, const Tensor& boxes, const Tensor& image_index,
                               const Tensor& weights);

struct RegionLoss {
  Tensor classifier, boxes;  ///< scalars
};
/// classes: N x (J + 1), weights: N.
[[nodiscard]] RegionLoss region_loss(const RegionOutputs& out, const two_stage::Regions& regions,
                                     const Tensor& target_boxes, const Tensor& classes, const Tensor& weights);

/// Soft classes and weights. Targets of weight 0 are as if they were not there.
[[nodiscard]] bdc::plugin::LossTerms soft_loss(Network& network, const Scene& scene,
                                               const bdc::plugin::Targets& targets, const LossOptions& options);

/// torchvision's loss: integer labels, no weights.
[[nodiscard]] bdc::plugin::LossTerms hard_loss(Network& network, const Scene& scene,
                                               const bdc::plugin::HardTargets& targets, const LossOptions& options);

}  // namespace frcnn
