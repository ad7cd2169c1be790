#pragma once

#include <bdc/plugin/types.h>

#include "bdc/crowd/predictions.h"
#include "bdc/crowd/targets.h"
#include "data/box_map.h"

/// Between the original frames of the images in a batch, where annotators drew and BDC thinks, and the detector's input
/// frame. An input shows one image or, as a mosaic, several tiles; each has a frame of its own. Image f of the flat
/// arrays is frame f of the batch: where no input is a mosaic, image b of the batch.
namespace bdc::host {

/// The frame of one image in a batch.
struct Frame {
  std::size_t input = 0;   ///< in the batch
  std::int64_t image = 0;  ///< in the data set
  AffineMap to_input{1, 0, 0, 0, 1, 0};
  Box area;  ///< the part of the input that the image may cover
};

/// The frames of a batch, input by input, tiles in their order.
[[nodiscard]] std::vector<Frame> frames_of(const plugin::Images& images);

/// The part of the original image that the input may show: the box around the frame's area, mapped back.
[[nodiscard]] Box view_of(const Frame& frame);

/// A box of the original frame in the input, clipped to the frame's area and left out as clip_box says.
[[nodiscard]] std::optional<Box> to_input(const Frame& frame, const Box& box);

/// Targets in the original frames -> the input frame, by to_input; class vectors and weights carry over. Throws
/// std::invalid_argument unless `targets` has as many images as the batch has frames.
[[nodiscard]] plugin::Targets map_targets(const Targets& targets, const plugin::Images& images);

/// Predictions in the input frame -> the original frames, with the exact inverse of what targets go through
/// (unmap_box). A box in a mosaic belongs to the tile whose area it overlaps most. Order and scores stay; boxes are not
/// clipped; class vectors are divided by their sum, in double. Reads the tensors from any device. Throws
/// std::invalid_argument when an image index is out of range or decreases.
[[nodiscard]] Predictions unmap_predictions(const plugin::Predictions& predictions, const plugin::Images& images);

/// An object that a detector found, in the original frame of its image.
struct Detection {
  Box box;
  std::int32_t label = 0;
  double score = 0;
};

/// The same for detections: per frame, best first.
[[nodiscard]] std::vector<std::vector<Detection>> unmap_detections(const plugin::Detections& detections,
                                                                   const plugin::Images& images);

}  // namespace bdc::host
