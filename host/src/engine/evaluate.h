#pragma once

#include <functional>

#include "bdc/crowd/detected_boxes.h"
#include "bdc/metrics/coco_eval.h"
#include "data/dataset.h"
#include "data/frames.h"
#include "engine/detector_handle.h"
#include "ranks/communicator.h"

namespace bdc::host {

/// Runs the detector over a data set (evaluation mode, no gradient) and hands out what it predicts for the consensus in
/// each image, in order, in the original frame. Broken images are left out. The module's mode is put back. Several
/// ranks share the work; each of them is handed all images.
void predict_all(DetectorHandle& detector, const Dataset& data, std::int64_t input_size, std::int64_t batch_size,
                 const plugin::DecodeOptions& limits,
                 const std::function<void(std::size_t image, const DetectedBoxes&)>& sink,
                 Communicator& ranks = Communicator::alone());

/// The same for detections, the detector's published post-processing. Boxes are not clipped.
void detect_all(DetectorHandle& detector, const Dataset& data, std::int64_t input_size, std::int64_t batch_size,
                const plugin::DecodeOptions& limits,
                const std::function<void(std::size_t image, const std::vector<Detection>&)>& sink);

/// Runs the detector over a data set (evaluation mode, no gradient) and judges its detections against the truth with
/// COCO's rules. Broken images count for nothing, nor do their true boxes. `progress` gets the number of images done.
/// The module's mode is put back. Several ranks share the images and rank 0 judges: the others get the twelve numbers
/// of CocoEvalResult::stats alone.
[[nodiscard]] CocoEvalResult evaluate(DetectorHandle& detector, const Dataset& data, std::int64_t input_size,
                                      std::int64_t batch_size, const plugin::DecodeOptions& limits,
                                      const std::function<void(std::int64_t)>& progress = {},
                                      Communicator& ranks = Communicator::alone());

}  // namespace bdc::host
