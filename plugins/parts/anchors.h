#pragma once

/// Anchors of a pyramid. Rows go level by level, inside a level by y, x, then shape: the order of the RPN's outputs.

#include <cstdint>
#include <utility>
#include <vector>

#include "parts/boxes.h"

namespace parts {

struct AnchorOptions {
  std::vector<std::vector<double>> sizes{{32}, {64}, {128}, {256}, {512}};  ///< per level: edges of square anchors, px
  std::vector<double> ratios{0.5, 1.0, 2.0};                                ///< height / width, at all levels
  bool rounded = true;  ///< corners rounded to whole pixels (torchvision); false: as they come (detectron2)

  /// Anchors per cell of a level; the same at all levels.
  [[nodiscard]] std::int64_t per_cell() const { return static_cast<std::int64_t>(sizes.at(0).size() * ratios.size()); }
};

/// Shapes of one level around the origin: S x 4. An anchor of size s and ratio r has area s^2 (before rounding).
/// Ratio by ratio, sizes inside.
[[nodiscard]] Tensor cell_anchors(const AnchorOptions& options, std::size_t level);

/// Pixels between the cells of a level, downwards and to the right.
struct Stride {
  std::int64_t y = 0, x = 0;
};

/// All anchors, N x 4 on `device`; cell (y, x) has its anchors around (x stride, y stride). grids: cells of each level.
[[nodiscard]] Tensor grid_anchors(const AnchorOptions& options, const std::vector<ImageSize>& grids,
                                  const std::vector<Stride>& strides, const torch::Device& device = torch::kCPU);

/// Strides as torchvision takes them: input edge / cells, rounded down, for each axis.
[[nodiscard]] std::vector<Stride> strides_of(const ImageSize& input, const std::vector<ImageSize>& grids);

}  // namespace parts
