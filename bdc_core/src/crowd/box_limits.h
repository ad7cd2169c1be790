#pragma once

#include <cmath>

#include "bdc/crowd/box.h"

namespace bdc {

/// Coordinates (pixels) beyond this are mistakes; products of a few of them would overflow.
constexpr double largest_coordinate = 1e9;
/// A drawn box narrower than this (pixels) has no size to speak of; its area and relative errors would vanish or
/// explode.
constexpr double smallest_extent = 1e-6;

/// Whether a coordinate is too large to compute with. False for NaN.
[[nodiscard]] inline bool beyond_limits(const Box& box) {
  return std::abs(box.x1) > largest_coordinate || std::abs(box.y1) > largest_coordinate ||
         std::abs(box.x2) > largest_coordinate || std::abs(box.y2) > largest_coordinate;
}

}  // namespace bdc
