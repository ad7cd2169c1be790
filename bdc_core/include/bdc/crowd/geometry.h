#pragma once

#include <algorithm>

#include "bdc/crowd/box.h"

namespace bdc {

/// A box by its centre and size. BDC's equations are written in this form, divided by the image's width and height.
struct CenterBox {
  double cx = 0, cy = 0, w = 0, h = 0;
};

[[nodiscard]] inline CenterBox to_center(const Box& b) {
  return {(b.x1 + b.x2) / 2, (b.y1 + b.y2) / 2, b.x2 - b.x1, b.y2 - b.y1};
}

[[nodiscard]] inline Box to_corners(const CenterBox& b) {
  return {b.cx - b.w / 2, b.cy - b.h / 2, b.cx + b.w / 2, b.cy + b.h / 2};
}

/// Width and height that normalise the boxes of an image.
struct ImageScale {
  double width = 1, height = 1;
};

[[nodiscard]] inline Box normalised(const Box& b, const ImageScale& s) {
  return {b.x1 / s.width, b.y1 / s.height, b.x2 / s.width, b.y2 / s.height};
}

/// Coordinates times width and height: back to pixels, or to normalised ones when given the inverse scale.
[[nodiscard]] inline Box scaled(const Box& b, const ImageScale& s) {
  return {b.x1 * s.width, b.y1 * s.height, b.x2 * s.width, b.y2 * s.height};
}

/// Generalised IoU: IoU - (hull - union) / hull, hull being the smallest box around both. In (-1, 1]; -1 for two boxes
/// without a hull of positive area.
[[nodiscard]] inline double giou(const Box& a, const Box& b) {
  const double inter = intersection(a, b);
  const double joint = a.area() + b.area() - inter;
  const double hull = (std::max(a.x2, b.x2) - std::min(a.x1, b.x1)) * (std::max(a.y2, b.y2) - std::min(a.y1, b.y1));
  if (!(hull > 0)) return -1.0;
  return (joint > 0 ? inter / joint : 0.0) - (hull - joint) / hull;
}

}  // namespace bdc
