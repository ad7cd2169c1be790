#pragma once

#include <algorithm>
#include <cmath>

#include "bdc/crowd/box.h"

namespace bdc {

/// The smallest upright box around `box` turned clockwise by `degrees` about (x, y) (y points down).
[[nodiscard]] inline Box upright_box_around(const Box& box, double x, double y, double degrees) {
  const double angle = degrees * (3.14159265358979323846 / 180);
  const double c = std::cos(angle), s = std::sin(angle);
  Box out{};
  bool first = true;
  for (const double px : {box.x1, box.x2}) {
    for (const double py : {box.y1, box.y2}) {
      const double rx = x + (px - x) * c - (py - y) * s;
      const double ry = y + (px - x) * s + (py - y) * c;
      out = first ? Box{rx, ry, rx, ry}
                  : Box{std::min(out.x1, rx), std::min(out.y1, ry), std::max(out.x2, rx), std::max(out.y2, ry)};
      first = false;
    }
  }
  return out;
}

}  // namespace bdc
