#pragma once

#include <bdc/plugin/detector.h>
#include <torch/types.h>

#include <cstdint>
#include <vector>

namespace yolov7 {

using torch::Tensor;

/// What one level of the network says. One row per image, cell and anchor:
/// row = ((image * 3 + anchor) * height + y) * width + x.
struct Level {
  Tensor raw;                          ///< R x (5 + J): x, y, w, h, objectness, classes, all before the sigmoid
  std::int64_t height = 0, width = 0;  ///< cells
  std::int64_t stride = 0;             ///< pixels per cell
  Tensor anchors;                      ///< 3 x 2: w, h in pixels
};

/// The network's activations: levels of stride 8, 16, 32.
struct Heads : bdc::plugin::Activations {
  std::vector<Level> levels;
  std::int64_t batch = 0, input_height = 0, input_width = 0;

  [[nodiscard]] std::int64_t num_classes() const { return levels.at(0).raw.size(1) - 5; }
};

/// Where rows of a level are.
struct Place {
  Tensor image;   ///< N int64
  Tensor cell;    ///< N x 2 float: x, y of the cell
  Tensor anchor;  ///< N x 2: w, h in pixels
};
[[nodiscard]] Place place_of(const Level& level, const Tensor& rows);

/// Boxes N x 4 (centre x, y, width, height in pixels) of raw rows (N x at least 4):
/// centre = (2 sigmoid - 0.5 + cell) * stride, size = (2 sigmoid)^2 * anchor.
[[nodiscard]] Tensor boxes_of(const Level& level, const Tensor& raw, const Place& place);

/// N x 4: centre and size to corners, and back.
[[nodiscard]] Tensor to_corners(const Tensor& boxes);
[[nodiscard]] Tensor to_centres(const Tensor& boxes);

}  // namespace yolov7
