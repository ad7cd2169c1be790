#pragma once

/// The loss of Faster R-CNN: RPN objectness and boxes (parts/rpn.h), and of the sampled regions, N in the batch,
///   classifier = sum_n( w_n CE(p_n, softmax(logits_n)) ) / N,
///   box_reg    = sum_foreground( w_n smooth_l1(code of the target's likeliest class, code of its box; beta 1/9) ) / N;
/// w is the weight of a region's target and 1 for background; p its class vector, background's all background. Where
/// ranks share a batch, N is divided as SharedCounts says.

#include <bdc/plugin/ranks.h>
#include <bdc/plugin/types.h>

#include "frcnn/network.h"
#include "parts/scene_labels.h"

namespace frcnn {

using parts::Labels;
using parts::labels_of;

struct LossOptions {
  parts::ProposalOptions proposals{2000, 2000, 0.7, 1e-3};
  parts::RpnLossOptions rpn;
  parts::RegionOptions regions;
  bdc::plugin::SharedCounts counts{};  ///< of the regions; those of the anchors are in `rpn`

  void use_counts(const bdc::plugin::SharedCounts& shared) { counts = rpn.counts = shared; }
};

/// Of box codes in the second stage.
[[nodiscard]] const parts::BoxCoder& region_coder();

struct RegionLoss {
  Tensor classifier, boxes;  ///< scalars
};
/// classes: N x (J + 1), weights: N. counts: what N is divided by.
[[nodiscard]] RegionLoss region_loss(const RegionOutputs& out, const parts::Regions& regions,
                                     const Tensor& target_boxes, const Tensor& classes, const Tensor& weights,
                                     const bdc::plugin::SharedCounts& counts = {});

/// Soft classes and weights. Targets of weight 0 are as if they were not there.
[[nodiscard]] bdc::plugin::LossTerms soft_loss(Network& network, const Scene& scene,
                                               const bdc::plugin::Targets& targets, const LossOptions& options);

/// torchvision's loss: integer labels, no weights.
[[nodiscard]] bdc::plugin::LossTerms hard_loss(Network& network, const Scene& scene,
                                               const bdc::plugin::HardTargets& targets, const LossOptions& options);

}  // namespace frcnn
