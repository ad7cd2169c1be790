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
[[nodiscard]] Sightings sightings(Network& network, const Scene& scene, const parts::ProposalOptions& proposals,
                                  const bdc::plugin::DecodeOptions& options);

/// The same in the frame of the images. class_probs: softmax over the classes without background.
[[nodiscard]] bdc::plugin::Predictions predictions(Network& network, const Scene& scene,
                                                   const parts::ProposalOptions& proposals,
                                                   const bdc::plugin::DecodeOptions& options);

/// A box of every proposal for every class whose probability is above a limit, clipped to the image, with edges of at
/// least 0.01 pixels. Network's frame.
struct Candidates {
  Tensor boxes;                     ///< N x 4
  Tensor scores;                    ///< N: probability of the class
  Tensor labels;                    ///< N int64, 0..J-1
  Tensor logits;                    ///< N x J: of the proposal, classes without background
  std::vector<std::int64_t> begin;  ///< B + 1: image b has the rows begin[b] .. begin[b+1]-1
};
/// No gradient; the backbone is not run again.
[[nodiscard]] Candidates candidates(Network& network, const Scene& scene, const parts::ProposalOptions& proposals,
                                    double min_score);

/// torchvision's detections: suppression by class, the best max_per_image of all classes. Frame of the images.
[[nodiscard]] bdc::plugin::Detections detections(Network& network, const Scene& scene,
                                                 const parts::ProposalOptions& proposals,
                                                 const bdc::plugin::DecodeOptions& options);

}  // namespace frcnn
