#pragma once

/// Boxes are N x 4 float, xyxy, pixels of the network's input.

#include <torch/types.h>

#include <cstdint>
#include <vector>

namespace parts {

using torch::Tensor;

struct ImageSize {
  std::int64_t height = 0, width = 0;
};

/// IoU of every a with every b: A x 4, B x 4 -> A x B.
[[nodiscard]] Tensor iou_matrix(const Tensor& a, const Tensor& b);

/// Corners moved into 0..width, 0..height. boxes: ... x 4.
[[nodiscard]] Tensor clip_to_image(const Tensor& boxes, const ImageSize& image);

/// Rows whose width and height are both at least `min_size`, as int64 indices. NaN is not.
[[nodiscard]] Tensor rows_not_smaller(const Tensor& boxes, double min_size);

/// Where the rows of each image begin: B + 1 numbers, image b has rows begin[b] .. begin[b+1]-1. image_index: N int64,
/// not decreasing, 0..batch-1.
[[nodiscard]] std::vector<std::int64_t> image_begin(const Tensor& image_index, std::int64_t batch);

}  // namespace parts
