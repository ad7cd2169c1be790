#pragma once

#include <cstddef>
#include <optional>

#include "bdc/base/span.h"
#include "bdc/crowd/box.h"
#include "bdc/crowd/predictions.h"

namespace bdc {

/// A detector's boxes on one image, in pixels of the original image, best first. A view: what it looks at must outlive
/// it.
struct DetectedBoxes {
  Span<const Box> box;
  Span<const double> score;        ///< 0..1
  Span<const double> class_probs;  ///< N x J, rows sum to 1
  /// The part of the image that the detector was shown; nothing: all of it. A zoom or a shift may push objects out of
  /// the frame: that they are not found says nothing.
  std::optional<Box> view = std::nullopt;
};

/// The detections of image `image` of `predictions`.
[[nodiscard]] inline DetectedBoxes of_image(const Predictions& predictions, std::size_t image) {
  const std::size_t first = predictions.begin[image], count = predictions.begin[image + 1] - first;
  const auto J = static_cast<std::size_t>(predictions.num_classes);
  return {{predictions.box.data() + first, count},
          {predictions.score.data() + first, count},
          {predictions.class_probs.data() + first * J, count * J}};
}

}  // namespace bdc
