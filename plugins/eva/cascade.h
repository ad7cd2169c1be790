#pragma once

/// Three stages, each on the boxes of the one before it.

#include <vector>

#include "eva/network.h"
#include "parts/regions.h"

namespace eva {

/// A stage's regions, tied to targets, and what it says of them, with gradient.
struct TrainedStage {
  parts::Regions regions;
  StageScores scores;
};

/// The first stage sees a sample of the proposals (and the targets' own boxes), each later one all boxes that its
/// forerunner made of them, matched anew at its own IoU. proposals: per image n x 4. targets: T x 4, those of image b
/// in the rows begin[b] .. begin[b+1]-1.
[[nodiscard]] std::vector<TrainedStage> training_stages(Network& network, const Features& features,
                                                        const std::vector<Tensor>& proposals, const Tensor& targets,
                                                        const std::vector<std::int64_t>& begin,
                                                        const parts::RegionOptions& sampling);

/// What the cascade makes of proposals. No gradient.
struct Verdict {
  Tensor boxes;                     ///< N x 4 of the last stage, inside their images
  std::vector<Tensor> logits;       ///< per stage N x (classes + 1), background last
  std::vector<std::int64_t> begin;  ///< B + 1: image b has the rows begin[b] .. begin[b+1]-1

  /// N x (classes + 1): the mean over the stages of their softmax.
  [[nodiscard]] Tensor mean_probs() const;
};
[[nodiscard]] Verdict judge(Network& network, const Features& features, const std::vector<Tensor>& proposals);

}  // namespace eva
