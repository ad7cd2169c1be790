#pragma once

#include <algorithm>
#include <cmath>

namespace bdc {

/// An axis-aligned box by its corners. Pixels of the original image unless a function says "normalised"
/// (then divided by the image's width and height). Valid when finite, x1 < x2 and y1 < y2.
struct Box {
  double x1 = 0, y1 = 0, x2 = 0, y2 = 0;

  [[nodiscard]] double width() const { return x2 - x1; }
  [[nodiscard]] double height() const { return y2 - y1; }
  [[nodiscard]] double area() const { return width() * height(); }
  [[nodiscard]] bool valid() const {
    return std::isfinite(x1) && std::isfinite(y1) && std::isfinite(x2) && std::isfinite(y2) && x1 < x2 && y1 < y2;
  }
  friend bool operator==(const Box& a, const Box& b) {
    return a.x1 == b.x1 && a.y1 == b.y1 && a.x2 == b.x2 && a.y2 == b.y2;
  }
};

/// Area of the intersection; 0 when the boxes do not meet.
[[nodiscard]] inline double intersection(const Box& a, const Box& b) {
  const double w = std::min(a.x2, b.x2) - std::max(a.x1, b.x1);
  const double h = std::min(a.y2, b.y2) - std::max(a.y1, b.y1);
  return w > 0 && h > 0 ? w * h : 0.0;
}

/// Intersection over union; 0 for two boxes without area.
[[nodiscard]] inline double iou(const Box& a, const Box& b) {
  const double inter = intersection(a, b);
  const double joint = a.area() + b.area() - inter;
  return joint > 0 ? inter / joint : 0.0;
}

}  // namespace bdc
