#pragma once

#include <cstdint>
#include <cstring>
#include <string>

namespace bdc {

/// A 64-bit mix of bytes, eight at a time: for noticing damage, not for secrecy.
class Checksum {
 public:
  void add(const void* data, std::size_t size) {
    const auto* bytes = static_cast<const unsigned char*>(data);
    mix(size);
    for (; size >= 8; size -= 8, bytes += 8) {
      std::uint64_t word = 0;
      std::memcpy(&word, bytes, 8);
      mix(word);
    }
    std::uint64_t rest = 0;
    if (size > 0) std::memcpy(&rest, bytes, size);
    mix(rest);
  }
  void add(const std::string& text) { add(text.data(), text.size()); }
  [[nodiscard]] std::string text() const { return std::to_string(state_); }

 private:
  void mix(std::uint64_t word) {
    state_ = (state_ ^ word) * 0x9e3779b97f4a7c15ULL;
    state_ ^= state_ >> 32;
  }
  std::uint64_t state_ = 0x243f6a8885a308d3ULL;
};

}  // namespace bdc
