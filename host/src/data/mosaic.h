#pragma once

#include <array>
#include <cstdint>
#include <opencv2/core.hpp>

#include "data/augment.h"

namespace bdc::host {

/// Four images in one input, meeting in a point near its middle. Each is a tile with a map of its own
/// (ImageMeta::tiles).
struct MosaicPlan {
  bool used = false;
  std::array<std::int64_t, 4> images{};  ///< top left, top right, bottom left, bottom right; one of them is the image
  double x = 0.5, y = 0.5;               ///< where they meet, of the input's size
  std::array<double, 4> fill{};          ///< 0: the image just fits its quarter; 1: it fills it
};

/// Depends on the arguments alone. `count`: images that partners are drawn from.
[[nodiscard]] MosaicPlan draw_mosaic(double probability, std::uint64_t seed, std::int64_t epoch, std::int64_t index,
                                     std::int64_t count);

/// One quarter: the map from the image's frame to the input's, and the part of the input that it may cover.
struct MosaicTile {
  AffineMap to_input{1, 0, 0, 0, 1, 0};
  Box area;  ///< whole pixels
};

[[nodiscard]] MosaicTile mosaic_tile(const MosaicPlan& plan, std::size_t quarter, const Augmentation& augmentation,
                                     double width, double height, std::int64_t input_size);

/// Draws an image into its quarter of an 8-bit RGB picture of the whole input.
void draw_tile(const cv::Mat& image, const Augmentation& augmentation, const MosaicTile& tile, cv::Mat& picture);

}  // namespace bdc::host
