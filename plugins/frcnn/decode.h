#pragma once

#include <bdc/plugin/detector.h>

#include "frcnn/network.h"

namespace frcnn {

/// Boxes the network sees, one per proposal: that of its likeliest class, clipped to the image. Network's frame.
struct Sightings {
  Tensor boxes;   ///< N x 4
  Tensor scores;  ///< N: probability of the likeliest class that is not background
  Tensor logits;  ///< N x J: classes without background
  Tensor image;   ///< N int64, not decreasing
};

/// Those with a score above min_score and edges of at least 0.01 pixels, best first inside an image after
/// class-agnostic suppression, at most max_per_image. No gradient; the backbone is not run again.
[[nodiscard]] Sightings sightings(Network& network, const Scene& scene, const two_stage::ProposalOptions& proposals,
                                  const bdc::plugin::DecodeOptions& options);

/// The same in the frame of the images. class_probs: softmax over the classes without background.
[[nodiscard]] bdc::plugin::Predictions predictions(Network& network, const Scene& scene,
                                                   const two_stage::ProposalOptions& proposals,
                                                   const bdc::plugin::DecodeOptions& options);

}  // namespace frcnn
