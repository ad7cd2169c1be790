#pragma once

#include <opencv2/core.hpp>

#include "data/augment.h"

namespace bdc::host {

/// Where an image went in the input.
struct Placement {
  AffineMap to_input{1, 0, 0, 0, 1, 0};
  std::int64_t content_width = 0, content_height = 0;  ///< from the top left; beyond is nothing but padding
};

/// The grey of what is not image.
constexpr int kPadding = 114;

/// An 8-bit RGB image through a map, recoloured, into a picture of `size`; padding around it. Images that shrink by
/// more than two are averaged first.
[[nodiscard]] cv::Mat warp_image(const cv::Mat& image, const AffineMap& map, const Augmentation& augmentation,
                                 const cv::Size& size);

/// An 8-bit RGB picture, at most input_size x input_size, as three float planes (0..1), padding to the right and below.
void write_planes(const cv::Mat& picture, std::int64_t input_size, float* planes);

/// Puts an 8-bit RGB image into a square input of three float planes (3 x input_size x input_size, 0..1, padding
/// 114/255): letterboxed from the top left and augmented, with one resampling by one affine map. Images that shrink are
/// averaged (INTER_AREA), so nothing is aliased.
Placement place_image(const cv::Mat& image, const Augmentation& augmentation, std::int64_t input_size, float* planes);

}  // namespace bdc::host
