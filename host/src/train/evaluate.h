#pragma once

#include <functional>

#include "bdc/learn/online_bdc.h"
#include "bdc/metrics/coco_eval.h"
#include "shapes/dataset.h"
#include "train/detector_handle.h"

namespace bdc::host {

/// The part of a box that lies inside the image; not valid when nothing does.
[[nodiscard]] Box inside_image(const Box& box, const ImageRecord& image);

/// Runs the detector over a data set (evaluation mode, no gradient) and hands out what it sees in each image, in order,
/// in the original frame. Broken images are left out. The module's mode is put back.
void predict_all(DetectorHandle& detector, const Dataset& data, std::int64_t input_size, std::int64_t batch_size,
                 const plugin::DecodeOptions& limits,
                 const std::function<void(std::size_t image, const DetectedBoxes&)>& sink);

/// Runs the detector over a data set (evaluation mode, no gradient) and judges its detections against the truth with
/// COCO's rules. Broken images count for nothing, nor do their true boxes. `progress` gets the number of images done.
/// The module's mode is put back.
[[nodiscard]] CocoEvalResult evaluate(DetectorHandle& detector, const Dataset& data, std::int64_t input_size,
                                      std::int64_t batch_size, const plugin::DecodeOptions& limits,
                                      const std::function<void(std::int64_t)>& progress = {});

}  // namespace bdc::host
