#pragma once

#include <cstdint>

namespace bdc::host {

/// What the built-in images of shapes are made from.
struct ShapesSettings {
  std::int64_t images = 400;
  std::int64_t classes = 4;  ///< 1..kShapeClasses
  std::int64_t size = 96;    ///< edge in pixels
  std::int64_t max_objects = 3;
  std::uint64_t seed = 1;
};
constexpr std::int64_t kShapeClasses = 12;

}  // namespace bdc::host
