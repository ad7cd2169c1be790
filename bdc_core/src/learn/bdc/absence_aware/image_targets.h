#pragma once

#include "bdc/crowd/targets.h"
#include "learn/bdc/absence_aware/image_state.h"

namespace bdc::absence_aware {

/// Expected IoU of the candidate's mean box with the true one, to first order: an edge that is off by d pixels costs
/// d / width (or height), and E|d| = 0.798 standard deviations.
[[nodiscard]] double expected_iou(const Candidate& c);

/// Probability that the true box overlaps the candidate's mean box by an IoU of at least kLocatedIou, if the object is
/// there: share of fixed draws from the box posterior.
[[nodiscard]] double located_share(const Candidate& c);

/// Appends the image's candidates with at least min_existence, in order, and closes the image (Targets::begin).
void append_targets(const ImageItems& image, const ImageState& state, double min_existence, bool clip, Targets& out);

}  // namespace bdc::absence_aware
