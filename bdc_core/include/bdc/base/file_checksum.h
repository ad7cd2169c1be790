#pragma once

#include <filesystem>
#include <string>

namespace bdc {

/// The Checksum of a file's bytes, as text; "" when it cannot be opened.
[[nodiscard]] std::string file_checksum(const std::filesystem::path& file);

}  // namespace bdc
