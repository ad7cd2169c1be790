#pragma once

/// The loss of the cascade detector. Over the N regions of a stage,
///   cls = sum( w CE(class vector) ) / N,   box = sum over regions with a target ( w |code - code of its target|_1 ) /
///   N,
/// w being the weight of the region's target and 1 for background; over the anchors drawn for the proposals
///   rpn_cls = sum( w BCE ) / n,   rpn_loc = sum over anchors with a target ( w |code - code of its target|_1 ) / n,
/// n = anchors wanted per image * images. The total is the sum of all eight. Where ranks share a batch, N and n are
/// divided as SharedCounts says.

#include <bdc/plugin/ranks.h>
#include <bdc/plugin/types.h>

#include <vector>

#include "eva/cascade.h"

namespace eva {

struct LossOptions {
  LossOptions();
  parts::ProposalOptions proposals;  ///< those the cascade is trained on
  parts::RpnLossOptions rpn;
  parts::RegionOptions regions;
  bdc::plugin::SharedCounts counts{};  ///< of the regions; those of the anchors are in `rpn`

  void use_counts(const bdc::plugin::SharedCounts& shared) { counts = rpn.counts = shared; }
};

struct StageLoss {
  Tensor cls, box;  ///< scalars
};
/// classes: N x (classes + 1), one class vector per region, background last. weights: N, or undefined for 1 everywhere.
/// targets: T x 4. counts: what N is divided by.
[[nodiscard]] StageLoss stage_loss(std::size_t stage, const TrainedStage& trained, const Tensor& classes,
                                   const Tensor& weights, const Tensor& targets,
                                   const bdc::plugin::SharedCounts& counts = {});

/// The boxes of proposals, per image.
[[nodiscard]] std::vector<Tensor> boxes_of(const std::vector<parts::Proposals>& proposals);

/// The sum and the named parts: cls and box of each stage, then those of the proposals.
[[nodiscard]] bdc::plugin::LossTerms total_loss(const std::vector<StageLoss>& stages, const parts::RpnLoss& rpn);

/// Soft classes and weights, at every stage. Targets of weight 0 are as if they were not there.
[[nodiscard]] bdc::plugin::LossTerms soft_loss(Network& network, const Features& features,
                                               const bdc::plugin::Targets& targets, const LossOptions& options);

/// Integer labels, no weights.
[[nodiscard]] bdc::plugin::LossTerms hard_loss(Network& network, const Features& features,
                                               const bdc::plugin::HardTargets& targets, const LossOptions& options);

}  // namespace eva
