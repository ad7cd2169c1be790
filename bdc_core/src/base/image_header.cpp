#include "bdc/base/image_header.h"

#include <array>
#include <cctype>
#include <cstring>
#include <istream>
#include <vector>

namespace bdc {
namespace {

using Bytes = std::vector<unsigned char>;
constexpr std::size_t kJpegSearchLimit = std::size_t{4} << 20;
constexpr std::int64_t kLargestEdge = 0x7FFFFFFF;

/// `count` bytes at `offset`; empty when the file is shorter.
Bytes bytes_at(std::istream& in, std::uint64_t offset, std::size_t count) {
  Bytes out(count);
  in.clear();
  in.seekg(static_cast<std::streamoff>(offset));
  in.read(reinterpret_cast<char*>(out.data()), static_cast<std::streamsize>(count));
  if (in.gcount() != static_cast<std::streamsize>(count)) out.clear();
  return out;
}

std::uint32_t number(const unsigned char* p, int bytes, bool big_endian) {
  std::uint32_t value = 0;
  for (int i = 0; i < bytes; ++i) value = value << 8 | p[big_endian ? i : bytes - 1 - i];
  return value;
}

std::optional<ImageHeader> header(const char* format, std::int64_t width, std::int64_t height, int orientation = 1) {
  if (width < 1 || height < 1 || width > kLargestEdge || height > kLargestEdge) return std::nullopt;
  return ImageHeader{format, width, height, orientation >= 1 && orientation <= 8 ? orientation : 1, false};
}

struct TiffTags {
  std::int64_t width = 0, height = 0;
  int orientation = 1;
  bool floating_point = false;
};

/// The tags we need of the first directory of a TIFF structure: `data(offset, count)` gives its bytes.
template <class Data>
std::optional<TiffTags> tiff_tags(const Data& data) {
  const Bytes start = data(0, 8);
  if (start.empty()) return std::nullopt;
  const bool big = start[0] == 'M';
  if (!((start[0] == 'I' && start[1] == 'I') || (start[0] == 'M' && start[1] == 'M'))) return std::nullopt;
  if (number(&start[2], 2, big) != 42) return std::nullopt;
  const std::uint64_t directory = number(&start[4], 4, big);
  const Bytes count = data(directory, 2);
  if (count.empty()) return std::nullopt;
  const std::size_t entries = number(count.data(), 2, big);
  const Bytes table = data(directory + 2, entries * 12);
  TiffTags tags;
  for (std::size_t i = 0; i + 12 <= table.size(); i += 12) {
    const auto tag = number(&table[i], 2, big), type = number(&table[i + 2], 2, big);
    if (type != 3 && type != 4) continue;  // 16-bit and 32-bit integers
    const auto value = number(&table[i + 8], type == 3 ? 2 : 4, big);
    if (tag == 0x0100) tags.width = value;
    if (tag == 0x0101) tags.height = value;
    if (tag == 0x0153 && type == 3) {  // one number per sample; those that do not fit in here stand elsewhere
      const bool elsewhere = number(&table[i + 4], 4, big) > 2;
      const Bytes format = elsewhere ? data(number(&table[i + 8], 4, big), 2) : Bytes(&table[i + 8], &table[i + 10]);
      tags.floating_point = !format.empty() && number(format.data(), 2, big) == 3;
    }
    if (tag == 0x0112 && value >= 1 && value <= 8) tags.orientation = static_cast<int>(value);
  }
  return tags;
}

int exif_orientation(const Bytes& segment) {
  if (segment.size() < 14 || std::memcmp(segment.data(), "Exif\0\0", 6) != 0) return 1;
  const auto tags = tiff_tags([&](std::uint64_t offset, std::size_t count) {
    const std::uint64_t from = offset + 6;
    if (from > segment.size() || count > segment.size() - from) return Bytes();
    const auto begin = segment.begin() + static_cast<std::ptrdiff_t>(from);
    return Bytes(begin, begin + static_cast<std::ptrdiff_t>(count));
  });
  return tags ? tags->orientation : 1;
}

/// Segments (marker, length, data) until one that starts a frame.
std::optional<ImageHeader> jpeg(std::istream& in) {
  int orientation = 1;
  for (std::uint64_t at = 2; at < kJpegSearchLimit;) {
    const Bytes marker = bytes_at(in, at, 2);
    if (marker.empty() || marker[0] != 0xFF) return std::nullopt;
    const int kind = marker[1];
    if (kind == 0xFF) {  // a fill byte
      ++at;
      continue;
    }
    at += 2;
    if (kind == 0x01 || (kind >= 0xD0 && kind <= 0xD8)) continue;  // markers without data
    if (kind == 0xD9 || kind == 0xDA) return std::nullopt;         // end, or pixels without a frame
    const Bytes size = bytes_at(in, at, 2);
    if (size.empty() || number(size.data(), 2, true) < 2) return std::nullopt;
    const std::size_t length = number(size.data(), 2, true) - 2;
    if (kind == 0xE1 && orientation == 1) orientation = exif_orientation(bytes_at(in, at + 2, length));
    if (kind >= 0xC0 && kind <= 0xCF && kind != 0xC4 && kind != 0xC8 && kind != 0xCC) {
      const Bytes frame = bytes_at(in, at + 2, 5);
      if (frame.empty()) return std::nullopt;
      return header("JPEG", number(&frame[3], 2, true), number(&frame[1], 2, true), orientation);
    }
    at += 2 + length;
  }
  return std::nullopt;
}

std::optional<ImageHeader> png(std::istream& in) {
  const Bytes b = bytes_at(in, 8, 16);
  if (b.empty() || std::memcmp(&b[4], "IHDR", 4) != 0) return std::nullopt;
  return header("PNG", number(&b[8], 4, true), number(&b[12], 4, true));
}

std::optional<ImageHeader> bmp(std::istream& in) {
  const Bytes b = bytes_at(in, 14, 12);
  if (b.empty()) return std::nullopt;
  if (number(b.data(), 4, false) == 12) return header("BMP", number(&b[4], 2, false), number(&b[6], 2, false));
  const auto height = static_cast<std::int32_t>(number(&b[8], 4, false));  // negative: stored from the top
  return header("BMP", static_cast<std::int32_t>(number(&b[4], 4, false)), std::abs(std::int64_t{height}));
}

std::optional<ImageHeader> tiff(std::istream& in) {
  const auto tags = tiff_tags([&](std::uint64_t offset, std::size_t count) { return bytes_at(in, offset, count); });
  auto out = tags ? header("TIFF", tags->width, tags->height, tags->orientation) : std::nullopt;
  if (out) out->floating_point = tags->floating_point;
  return out;
}

std::optional<ImageHeader> webp(std::istream& in) {
  const Bytes b = bytes_at(in, 12, 18);
  if (b.empty()) return std::nullopt;
  if (std::memcmp(b.data(), "VP8X", 4) == 0) {
    return header("WebP", std::int64_t{number(&b[12], 3, false)} + 1, std::int64_t{number(&b[15], 3, false)} + 1);
  }
  if (std::memcmp(b.data(), "VP8L", 4) == 0) {
    const auto bits = number(&b[9], 4, false);
    return header("WebP", std::int64_t{bits & 0x3FFF} + 1, std::int64_t{bits >> 14 & 0x3FFF} + 1);
  }
  if (std::memcmp(b.data(), "VP8 ", 4) == 0) {
    return header("WebP", number(&b[14], 2, false) & 0x3FFF, number(&b[16], 2, false) & 0x3FFF);
  }
  return std::nullopt;
}

/// "P6 640 480 255": numbers between white space and comments.
std::optional<ImageHeader> pnm(std::istream& in) {
  Bytes b(1024);
  in.clear();
  in.seekg(2);
  in.read(reinterpret_cast<char*>(b.data()), static_cast<std::streamsize>(b.size()));
  b.resize(static_cast<std::size_t>(in.gcount()));
  std::array<std::int64_t, 2> values{};
  std::size_t at = 0;
  for (auto& value : values) {
    while (at < b.size() && (std::isspace(b[at]) || b[at] == '#')) {
      if (b[at] == '#') {
        while (at < b.size() && b[at] != '\n') ++at;
      } else {
        ++at;
      }
    }
    for (; at < b.size() && std::isdigit(b[at]); ++at) {
      value = value * 10 + (b[at] - '0');
      if (value > kLargestEdge) return std::nullopt;
    }
  }
  return header("PNM", values[0], values[1]);
}

}  // namespace

std::optional<ImageHeader> read_image_header(std::istream& in) {
  const Bytes b = bytes_at(in, 0, 12);
  if (b.empty()) return std::nullopt;
  const auto starts = [&](const char* text, std::size_t size) { return std::memcmp(b.data(), text, size) == 0; };
  if (starts("\xFF\xD8\xFF", 3)) return jpeg(in);
  if (starts("\x89PNG\r\n\x1A\n", 8)) return png(in);
  if (starts("BM", 2)) return bmp(in);
  if (starts("II\x2A\0", 4) || starts("MM\0\x2A", 4)) return tiff(in);
  if (starts("RIFF", 4) && std::memcmp(&b[8], "WEBP", 4) == 0) return webp(in);
  if (b[0] == 'P' && b[1] >= '1' && b[1] <= '6' && std::isspace(b[2])) return pnm(in);
  return std::nullopt;
}

}  // namespace bdc
