#pragma once

#include <algorithm>

#include "bdc/crowd/crowd_data.h"

namespace bdc {

/// The part of a box that is in an image of width x height pixels (not negative); not valid when there is none.
[[nodiscard]] inline Box clip_to_size(const Box& b, double width, double height) {
  return {std::clamp(b.x1, 0.0, width), std::clamp(b.y1, 0.0, height), std::clamp(b.x2, 0.0, width),
          std::clamp(b.y2, 0.0, height)};
}

/// The same for an image of a data set. One without a size clips nothing.
[[nodiscard]] inline Box clip_to_image(const Box& b, const ImageRecord& image) {
  return image.width > 0 && image.height > 0 ? clip_to_size(b, image.width, image.height) : b;
}

}  // namespace bdc
