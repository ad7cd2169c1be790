#pragma once

/// Weights made by formula from a tensor's name, as in the golden files (README of tests/golden has the rules). Without
/// GoogleTest, so that benchmarks can use it as well.

#include <torch/types.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <string>

namespace golden {

using torch::Tensor;

/// The CRC of PNG and zlib.
inline std::uint32_t crc32(const std::string& text) {
  static const auto table = [] {
    std::array<std::uint32_t, 256> out{};
    for (std::uint32_t n = 0; n < 256; ++n) {
      std::uint32_t c = n;
      for (int k = 0; k < 8; ++k) c = (c & 1U) != 0 ? 0xEDB88320U ^ (c >> 1) : c >> 1;
      out[n] = c;
    }
    return out;
  }();
  std::uint32_t crc = 0xFFFFFFFFU;
  for (const char c : text) crc = table[(crc ^ static_cast<unsigned char>(c)) & 0xFFU] ^ (crc >> 8);
  return crc ^ 0xFFFFFFFFU;
}

/// The number of the hash rule for flat index i of the tensor whose name has this CRC.
inline std::uint32_t hashed(std::int64_t i, std::uint32_t crc) {
  std::uint32_t h = static_cast<std::uint32_t>(i) * 2654435761U + crc;
  h ^= h >> 16;
  h *= 0x85ebca6bU;
  h ^= h >> 13;
  h *= 0xc2b2ae35U;
  return h ^ (h >> 16);
}

inline bool ends_with(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

/// Fills a tensor from its name by the rule "sine" or "hash".
inline void fill_one(Tensor tensor, const std::string& name, const std::string& rule, double hash_gain) {
  const std::uint32_t crc = crc32(name);
  const double phase = static_cast<double>(crc % 1000) * 0.01;
  const bool sine = rule == "sine";
  double fan_in = 1;
  for (std::int64_t d = 1; d < tensor.dim(); ++d) fan_in *= static_cast<double>(tensor.size(d));
  const double spread = std::sqrt((sine ? 2.0 : hash_gain) / fan_in);
  float* out = tensor.data_ptr<float>();
  for (std::int64_t i = 0; i < tensor.numel(); ++i) {
    const double s = sine ? std::sin(0.37 * static_cast<double>(i) + phase) : hashed(i, crc) / 2147483648.0 - 1.0;
    double value = 0.05 * s;
    if (ends_with(name, "running_var")) {
      value = 1 + 0.2 * std::abs(s);
    } else if (tensor.dim() > 1) {
      value = s * spread;
    } else if (ends_with(name, "weight")) {
      value = 1 + 0.1 * s;
    }
    out[i] = static_cast<float>(value);
  }
}

}  // namespace golden
