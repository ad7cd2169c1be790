#pragma once

#include <cstdint>
#include <string_view>

namespace bdc::host {

/// The unsigned number in the first `count` (at most 8) bytes from `at`, lowest byte first. The bytes must be there.
[[nodiscard]] inline std::uint64_t little_endian(std::string_view bytes, std::size_t at, std::size_t count) {
  std::uint64_t out = 0;
  for (std::size_t i = count; i-- > 0;) out = out << 8 | static_cast<unsigned char>(bytes[at + i]);
  return out;
}

}  // namespace bdc::host
