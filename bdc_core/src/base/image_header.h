#pragma once

#include <iosfwd>
#include <optional>
#include <string>
#include <utility>

namespace bdc {

/// Width and height from the first bytes of a PNG or JPEG file; nothing when it is neither or is broken. Reads at most
/// 1 MiB of a JPEG's leading segments.
[[nodiscard]] std::optional<std::pair<int, int>> read_image_size(std::istream& in);
[[nodiscard]] std::optional<std::pair<int, int>> read_image_size(const std::string& path);

}  // namespace bdc
