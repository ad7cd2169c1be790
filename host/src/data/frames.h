#pragma once

#include <bdc/plugin/types.h>

#include "bdc/crowd/predictions.h"
#include "bdc/crowd/targets.h"

/// Between the original frames of a batch's images, where annotators drew and BDC thinks, and the detector's input
/// frame. Image b of the flat arrays is image b of the batch.
namespace bdc::host {

/// Targets in the original frames -> the input frame, boxes clipped and left out as clip_to_input says; class vectors
/// and weights carry over. Throws std::invalid_argument unless `targets` has as many images as the batch.
[[nodiscard]] plugin::Targets map_targets(const Targets& targets, const plugin::Images& images);

/// Predictions in the input frame -> the original frames, with the exact inverse of what targets go through
/// (unmap_box). Order and scores stay; boxes are not clipped; class vectors are divided by their sum, in double.
/// Reads the tensors from any device. Throws std::invalid_argument when an image index is out of range or decreases.
[[nodiscard]] Predictions unmap_predictions(const plugin::Predictions& predictions, const plugin::Images& images);

}  // namespace bdc::host
