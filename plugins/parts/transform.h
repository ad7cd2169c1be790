#pragma once

#include "parts/boxes.h"

namespace parts {

using torch::Tensor;

/// How images become the network's input, as torchvision does it: channels normalised by ImageNet's mean and deviation;
/// the shorter edge resized to min_size unless the longer would be above max_size, in which case that is max_size;
/// padded with zeros at the right and at the bottom to the largest of the batch, rounded up to 32.
struct TransformOptions {
  std::int64_t min_size = 0;  ///< 0: no resizing, images keep the size they come in
  std::int64_t max_size = 1333;
};

/// Channels less ImageNet's mean, divided by its deviation. pixels: ... x 3 x h x w, 0..1.
[[nodiscard]] Tensor normalised(const Tensor& pixels);

struct NetworkInput {
  Tensor pixels;                 ///< B x 3 x H x W
  std::vector<ImageSize> sizes;  ///< of the images without padding
  Tensor scale;                  ///< B x 4 float32: a box of the given frame times this is one of the network's
};

/// pixels: B x 3 x h x w, 0..1; contents: the part of each that is image, from the top left.
[[nodiscard]] NetworkInput transform(const Tensor& pixels, const std::vector<ImageSize>& contents,
                                     const TransformOptions& options);

/// The size that an image is resized to. Computed in single precision, by the edge's reciprocal, and rounded down, as
/// torchvision does: another order of rounding gives another size to a quarter of all images.
[[nodiscard]] ImageSize resized(const ImageSize& image, const TransformOptions& options);

/// Boxes N x 4 of images `image_index` (N int64) to the network's frame, and back.
[[nodiscard]] Tensor to_network(const Tensor& boxes, const Tensor& image_index, const Tensor& scale);
[[nodiscard]] Tensor from_network(const Tensor& boxes, const Tensor& image_index, const Tensor& scale);

}  // namespace parts
