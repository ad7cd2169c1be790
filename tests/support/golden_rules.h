#pragma once

/// What the golden files of all detectors share: weights and images made by formula from a tensor's name, and tensors
/// given as summaries. README of tests/golden has the rules.

#include <gtest/gtest.h>
#include <torch/nn.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

namespace golden {

using nlohmann::json;
using torch::Tensor;

/// tests/golden/detectors/<name>.
inline json file(const std::string& name) {
  const std::string path = std::string(BDC_TEST_DATA) + "/golden/detectors/" + name;
  std::ifstream in(path);
  if (!in) throw std::runtime_error("cannot open " + path);
  return json::parse(in);
}

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

/// Fills every parameter and every floating buffer that is not a constant of the file. `prefix`: before the module's
/// own names.
inline void fill(torch::nn::Module& module, const std::string& rule, const json& golden,
                 const std::string& prefix = "") {
  torch::NoGradGuard no_grad;
  const double gain = golden.at("hash_gain");
  for (auto& item : module.named_parameters()) fill_one(item.value(), prefix + item.key(), rule, gain);
  for (auto& item : module.named_buffers()) {
    const bool constant = golden.at("constant_tensors").contains(prefix + item.key());
    if (!constant && item.value().is_floating_point()) fill_one(item.value(), prefix + item.key(), rule, gain);
  }
}

/// An image tensor, 0..1, by the rule "sine" or "hash" (with the given name).
inline Tensor image(const std::string& rule, const std::vector<std::int64_t>& shape,
                    const std::string& name = "image") {
  Tensor out = torch::empty(shape, torch::kFloat32);
  const std::uint32_t crc = crc32(name);
  for (std::int64_t i = 0; i < out.numel(); ++i) {
    const double value =
        rule == "sine" ? 0.5 + 0.5 * std::sin(0.013 * static_cast<double>(i)) : hashed(i, crc) / 4294967296.0;
    out.data_ptr<float>()[i] = static_cast<float>(value);
  }
  return out;
}

/// 20 times what float32 and float64 runs of the original differ by, at least 1e-6 of the largest value.
inline double tolerance_of(const json& summary) {
  double largest = 0;
  for (const auto& s : summary.at("samples")) largest = std::max(largest, std::abs(s.get<double>()));
  const double given = summary.contains("max_abs_diff_f64") ? summary.at("max_abs_diff_f64").get<double>() : 0.0;
  return std::max(20 * given, 1e-6 * largest);
}

/// Expects the tensor to have the summary's shape, samples, extremes and sums. `tolerance` is per element.
inline void expect_summary(const Tensor& actual, const json& summary, double tolerance, const std::string& what) {
  SCOPED_TRACE(what);
  ASSERT_EQ(actual.sizes().vec(), summary.at("shape").get<std::vector<std::int64_t>>());
  const Tensor flat = actual.detach().to(torch::kFloat64).flatten().contiguous();
  const std::int64_t n = flat.numel();
  const auto& samples = summary.at("samples");
  const auto count = static_cast<std::int64_t>(samples.size());
  double worst = 0;
  for (std::int64_t k = 0; k < count; ++k) {
    const std::int64_t at = n <= count ? k : k * (n - 1) / (count - 1);
    const double off = std::abs(flat.data_ptr<double>()[at] - samples[static_cast<std::size_t>(k)].get<double>());
    worst = std::isfinite(off) ? std::max(worst, off) : INFINITY;
  }
  EXPECT_LE(worst, tolerance) << "largest error of " << count << " samples";
  const auto number = [&](const char* key) { return summary.at(key).get<double>(); };
  const double sums = tolerance * static_cast<double>(n) + 1e-8 * number("abs_sum");
  EXPECT_NEAR(flat.sum().item<double>(), number("sum"), sums);
  EXPECT_NEAR(flat.abs().sum().item<double>(), number("abs_sum"), sums);
  if (!summary.contains("min")) return;
  EXPECT_NEAR(flat.min().item<double>(), number("min"), tolerance);
  EXPECT_NEAR(flat.max().item<double>(), number("max"), tolerance);
}

inline ::testing::AssertionResult relative(double actual, double expected, double tolerance) {
  if (std::abs(actual - expected) <= tolerance * std::abs(expected)) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << actual << " is not " << expected << " within " << tolerance << " of it";
}

/// Numbers of nested lists, as float32 of the given shape.
inline Tensor numbers(const json& nested, const std::vector<std::int64_t>& shape) {
  std::vector<float> flat;
  const std::function<void(const json&)> walk = [&](const json& at) {
    if (at.is_array()) {
      for (const auto& item : at) walk(item);
    } else {
      flat.push_back(at.get<float>());
    }
  };
  walk(nested);
  return torch::tensor(flat).reshape(shape);
}

}  // namespace golden
