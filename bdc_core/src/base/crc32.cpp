#include "bdc/base/crc32.h"

#include <array>
#include <cstddef>

namespace bdc {
namespace {

/// tables[k][b]: what byte b contributes when k more bytes follow it in the same group of eight.
using Tables = std::array<std::array<std::uint32_t, 256>, 8>;

constexpr Tables make_tables(std::uint32_t reflected_polynomial) {
  Tables tables{};
  for (std::uint32_t b = 0; b < 256; ++b) {
    std::uint32_t rest = b;
    for (int bit = 0; bit < 8; ++bit) rest = (rest >> 1) ^ ((rest & 1u) ? reflected_polynomial : 0u);
    tables[0][b] = rest;
  }
  for (std::size_t k = 1; k < 8; ++k) {
    for (std::size_t b = 0; b < 256; ++b) {
      const std::uint32_t before = tables[k - 1][b];
      tables[k][b] = (before >> 8) ^ tables[0][before & 0xffu];
    }
  }
  return tables;
}

std::uint32_t crc(const Tables& tables, std::string_view bytes) {
  const auto at = [&](std::size_t i) { return static_cast<std::uint32_t>(static_cast<unsigned char>(bytes[i])); };
  std::uint32_t sum = 0xffffffffu;
  std::size_t i = 0;
  for (; i + 8 <= bytes.size(); i += 8) {
    const std::uint32_t low = sum ^ (at(i) | at(i + 1) << 8 | at(i + 2) << 16 | at(i + 3) << 24);
    sum = tables[7][low & 0xffu] ^ tables[6][(low >> 8) & 0xffu] ^ tables[5][(low >> 16) & 0xffu] ^
          tables[4][low >> 24] ^ tables[3][at(i + 4)] ^ tables[2][at(i + 5)] ^ tables[1][at(i + 6)] ^
          tables[0][at(i + 7)];
  }
  for (; i < bytes.size(); ++i) sum = (sum >> 8) ^ tables[0][(sum ^ at(i)) & 0xffu];
  return ~sum;
}

}  // namespace

std::uint32_t crc32(std::string_view bytes) {
  static constexpr Tables kTables = make_tables(0xEDB88320u);
  return crc(kTables, bytes);
}

std::uint32_t crc32c(std::string_view bytes) {
  static constexpr Tables kTables = make_tables(0x82F63B78u);
  return crc(kTables, bytes);
}

}  // namespace bdc
