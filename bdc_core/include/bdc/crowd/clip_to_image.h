#pragma once

#include <algorithm>

#include "bdc/crowd/crowd_data.h"

namespace bdc {

/// The part of a box that is in the image; not valid when there is none. An image without a size clips nothing.
[[nodiscard]] inline Box clip_to_image(const Box& b, const ImageRecord& image) {
  if (image.width <= 0 || image.height <= 0) return b;
  const double width = image.width, height = image.height;
  return {std::clamp(b.x1, 0.0, width), std::clamp(b.y1, 0.0, height), std::clamp(b.x2, 0.0, width),
          std::clamp(b.y2, 0.0, height)};
}

}  // namespace bdc
