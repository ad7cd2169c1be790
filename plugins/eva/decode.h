#pragma once

#include <bdc/plugin/detector.h>

#include "eva/cascade.h"

namespace eva {

/// Boxes of the last stage with the mean class vector of all stages. Score = the best class of the mean; class_probs =
/// the mean without background, divided by its sum. Class-agnostic suppression, per image. No gradient.
[[nodiscard]] bdc::plugin::Predictions predictions(Network& network, const Features& features,
                                                   const two_stage::ProposalOptions& proposals,
                                                   const bdc::plugin::DecodeOptions& options);

}  // namespace eva
