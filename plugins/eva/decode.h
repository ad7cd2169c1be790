#pragma once

#include <bdc/plugin/detector.h>

#include "eva/cascade.h"

namespace eva {

/// Boxes of the last stage with the mean class vector of all stages. Score = the best class of the mean; class_probs =
/// the mean without background, divided by its sum. Class-agnostic suppression, per image. No gradient.
[[nodiscard]] bdc::plugin::Predictions predictions(Network& network, const Features& features,
                                                   const parts::ProposalOptions& proposals,
                                                   const bdc::plugin::DecodeOptions& options);

/// The same cascade as the original evaluates it: every class of a box by itself, the mean of the stages' softmax as
/// its score, suppression by class, the best max_per_image of all classes. proposals: per image n x 4. No gradient.
[[nodiscard]] bdc::plugin::Detections detections(Network& network, const Features& features,
                                                 const std::vector<Tensor>& proposals,
                                                 const bdc::plugin::DecodeOptions& options);

}  // namespace eva
