#pragma once

#include <algorithm>
#include <optional>

#include "bdc/crowd/box.h"

namespace bdc {

/// The smallest upright box around points.
class BoxAround {
 public:
  void add(double x, double y) {
    if (any_) {
      box_ = {std::min(box_.x1, x), std::min(box_.y1, y), std::max(box_.x2, x), std::max(box_.y2, y)};
    } else {
      box_ = {x, y, x, y};
    }
    // A comparison with NaN is false, so a NaN would otherwise go unnoticed.
    any_ = true;
    finite_ = finite_ && x - x == 0 && y - y == 0;
  }
  /// Nothing without points, or when one is not finite.
  [[nodiscard]] std::optional<Box> box() const { return any_ && finite_ ? std::optional<Box>(box_) : std::nullopt; }

 private:
  Box box_{};
  bool any_ = false, finite_ = true;
};

}  // namespace bdc
