#include "base/image_header.h"

#include <array>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <istream>

namespace bdc {
namespace {

constexpr std::size_t search_limit = std::size_t{1} << 20;
using Size = std::pair<int, int>;

template <std::size_t N>
bool take(std::istream& in, std::array<unsigned char, N>& bytes) {
  in.read(reinterpret_cast<char*>(bytes.data()), N);
  return in.gcount() == static_cast<std::streamsize>(N);
}

unsigned two(const unsigned char* p) {
  return static_cast<unsigned>(p[0]) << 8 | p[1];
}

std::optional<Size> valid(std::uint64_t width, std::uint64_t height) {
  if (width == 0 || height == 0 || width > 0x7FFFFFFF || height > 0x7FFFFFFF) return std::nullopt;
  return Size{static_cast<int>(width), static_cast<int>(height)};
}

/// After the eight bytes of the signature: the IHDR chunk with width and height.
std::optional<Size> png_size(std::istream& in) {
  std::array<unsigned char, 16> header{};
  if (!take(in, header) || std::memcmp(&header[4], "IHDR", 4) != 0) return std::nullopt;
  const auto four = [&](std::size_t i) { return std::uint64_t{two(&header[i])} << 16 | two(&header[i + 2]); };
  return valid(four(8), four(12));
}

/// Segments (marker, length, data) until one that starts a frame.
std::optional<Size> jpeg_size(std::istream& in) {
  std::size_t passed = 0;
  while (passed < search_limit) {
    int c = in.get();
    if (c != 0xFF) return std::nullopt;
    while (c == 0xFF) {  // any number of fill bytes
      c = in.get();
      if (++passed > search_limit) return std::nullopt;
    }
    if (c < 0 || c == 0xD9 || c == 0xDA) return std::nullopt;  // end, or pixels without a frame
    if (c == 0x01 || (c >= 0xD0 && c <= 0xD8)) continue;       // markers without data
    std::array<unsigned char, 2> length_bytes{};
    if (!take(in, length_bytes)) return std::nullopt;
    const std::size_t length = two(length_bytes.data());
    if (length < 2) return std::nullopt;
    const bool frame = c >= 0xC0 && c <= 0xCF && c != 0xC4 && c != 0xC8 && c != 0xCC;
    if (frame) {
      std::array<unsigned char, 5> data{};
      if (!take(in, data)) return std::nullopt;
      return valid(two(&data[3]), two(&data[1]));
    }
    in.ignore(static_cast<std::streamsize>(length - 2));
    passed += length + 2;
  }
  return std::nullopt;
}

}  // namespace

std::optional<Size> read_image_size(std::istream& in) {
  std::array<unsigned char, 2> start{};
  if (!take(in, start)) return std::nullopt;
  if (start[0] == 0xFF && start[1] == 0xD8) return jpeg_size(in);
  std::array<unsigned char, 6> rest{};
  if (start[0] == 0x89 && start[1] == 'P' && take(in, rest) && std::memcmp(rest.data(), "NG\r\n\x1A\n", 6) == 0) {
    return png_size(in);
  }
  return std::nullopt;
}

std::optional<Size> read_image_size(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return in ? read_image_size(in) : std::nullopt;
}

}  // namespace bdc
