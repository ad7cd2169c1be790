#pragma once

#include <cstdint>
#include <filesystem>
#include <iosfwd>
#include <opencv2/core.hpp>

#include "bdc/base/image_header.h"

namespace bdc::host {

struct ImageLimits {
  /// Larger images are refused after their header was read, before anything is decoded.
  std::int64_t max_pixels = 128000000;
};

/// The header of an image file. Throws DataError, naming the file, when it cannot be opened, is not an image of a known
/// format (JPEG, PNG, TIFF, BMP, WebP, PNM), is larger than the limit, or is a TIFF that is not stored upright.
[[nodiscard]] ImageHeader read_image_header(const std::filesystem::path& file, const ImageLimits& limits = {});

/// An image file as 8-bit RGB, in the frame that viewers and annotation tools show:
/// - The EXIF orientation of a JPEG is applied.
/// - Grey becomes three equal channels; transparency is dropped.
/// - 16-bit values are divided by the range in use: by 257 (65535 becomes 255), but when no value of the image is above
///   4095 it is a 12-bit image and divided by 4095/255, and when none is above 255 it is kept.
/// Throws DataError, naming the file, for what read_image_header refuses, a file that breaks off or cannot be decoded
/// whole, and floating-point pixels. Nothing is printed.
[[nodiscard]] cv::Mat read_image_file(const std::filesystem::path& file, const ImageLimits& limits = {});

/// The same from a stream that supports seeking. `name` stands for the file in messages.
[[nodiscard]] cv::Mat read_image(std::istream& in, const std::string& name, const ImageLimits& limits = {});

}  // namespace bdc::host
