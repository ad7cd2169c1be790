#pragma once

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>

namespace bdc {

/// What the first bytes of an image file say.
struct ImageHeader {
  const char* format = "";  ///< "JPEG", "PNG", "TIFF", "BMP", "WebP" or "PNM"
  std::int64_t width = 0, height = 0;
  /// EXIF orientation of a JPEG or the tag of a TIFF, 1..8; 1: pixels are stored upright.
  int orientation = 1;
  bool floating_point = false;  ///< a TIFF says that its samples are floating-point numbers

  /// Size as a viewer shows it: orientations 5..8 stand on their side.
  [[nodiscard]] std::int64_t shown_width() const { return orientation >= 5 ? height : width; }
  [[nodiscard]] std::int64_t shown_height() const { return orientation >= 5 ? width : height; }
};

/// Reads the header of an image file that supports seeking; nothing when it is none of the formats above or is broken.
/// Reads no pixels and, whatever the file claims, at most a few MiB.
[[nodiscard]] std::optional<ImageHeader> read_image_header(std::istream& in);

}  // namespace bdc
