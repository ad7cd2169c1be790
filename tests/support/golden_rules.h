#pragma once

/// What the golden files of all detectors share: weights and images made by formula from a tensor's name, and tensors
/// given as summaries. README of tests/golden has the rules.

#include <gtest/gtest.h>
#include <torch/autograd.h>
#include <torch/nn.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <regex>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "support/golden_fill.h"

namespace golden {

using nlohmann::json;
using torch::Tensor;

/// tests/golden/detectors/<name>, or that file in the folder $BDC_GOLDEN_DETECTORS.
inline json file(const std::string& name) {
  const char* folder = std::getenv("BDC_GOLDEN_DETECTORS");
  const std::string path =
      (folder != nullptr ? std::string(folder) : std::string(BDC_TEST_DATA) + "/golden/detectors") + "/" + name;
  std::ifstream in(path);
  if (!in) throw std::runtime_error("cannot open " + path);
  return json::parse(in);
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

/// Flat index of sample k of `count`, of a tensor of n numbers.
inline std::int64_t sampled_at(std::int64_t n, std::int64_t count, std::int64_t k) {
  return n <= count ? k : k * (n - 1) / (count - 1);
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
    const double off =
        std::abs(flat.data_ptr<double>()[sampled_at(n, count, k)] - samples[static_cast<std::size_t>(k)].get<double>());
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

inline std::int64_t rows_of(const json& list) {
  return static_cast<std::int64_t>(list.size());
}

/// Shape of nested lists.
inline std::vector<std::int64_t> shape_of(const json& nested) {
  std::vector<std::int64_t> out;
  for (const json* at = &nested; at->is_array(); at = &at->front()) {
    out.push_back(rows_of(*at));
    if (at->empty()) break;
  }
  return out;
}

inline Tensor numbers(const json& nested) {
  return numbers(nested, shape_of(nested));
}

/// n x 4; n may be 0.
inline Tensor boxes(const json& rows) {
  return numbers(rows, {rows_of(rows), 4});
}

inline std::vector<std::int64_t> integers(const json& list) {
  return list.get<std::vector<std::int64_t>>();
}

inline std::vector<std::int64_t> integers(const Tensor& t) {
  const Tensor flat = t.to(torch::kInt64).contiguous();
  return {flat.data_ptr<std::int64_t>(), flat.data_ptr<std::int64_t>() + flat.numel()};
}

/// The numbers in a text: "rpn_matcher_0.7_0.3_lowquality" -> 0.7, 0.3.
inline std::vector<double> numbers_in(const std::string& text) {
  std::vector<double> out;
  for (std::size_t at = text.find_first_of("0123456789"); at != std::string::npos;
       at = text.find_first_of("0123456789", at)) {
    std::size_t length = 0;
    out.push_back(std::stod(text.substr(at, text.find_first_not_of("0123456789.", at) - at), &length));
    at += length;
  }
  return out;
}

/// The first shape in a text, its numbers joined by "x": "arange(70) as 1x5x7x2" -> 1, 5, 7, 2.
inline std::vector<std::int64_t> shape_in(const std::string& text) {
  std::smatch found;
  if (!std::regex_search(text, found, std::regex("[0-9]+(x[0-9]+)+"))) {
    throw std::runtime_error("no shape in '" + text + "'");
  }
  std::vector<std::int64_t> out;
  for (const double n : numbers_in(found.str())) out.push_back(static_cast<std::int64_t>(n));
  return out;
}

/// The entry whose key begins so.
inline std::pair<std::string, json> entry(const json& object, const std::string& key_begin) {
  for (const auto& [key, value] : object.items()) {
    if (key.compare(0, key_begin.size(), key_begin) == 0) return {key, value};
  }
  throw std::runtime_error("no entry '" + key_begin + "...'");
}

/// How a case says that its images are made: "sine ...", or "... name 'image<k>' ...".
struct ImageRule {
  explicit ImageRule(const std::string& text) : is_sine(text.find("sin") != std::string::npos) {
    const auto from = text.find('\''), to = text.find('\'', from + 1);
    if (!is_sine) pattern = to == std::string::npos ? "image" : text.substr(from + 1, to - from - 1);
  }
  [[nodiscard]] std::string rule() const { return is_sine ? "sine" : "hash"; }
  /// Of image k of a list.
  [[nodiscard]] std::string name(std::size_t k) const {
    const auto at = pattern.find("<k>");
    return at == std::string::npos ? pattern : pattern.substr(0, at) + std::to_string(k) + pattern.substr(at + 3);
  }
  bool is_sine;
  std::string pattern;
};

/// Numbers of the cases in a list of the file, and what tests call them: "sine", "hash", "hash_2", ...
inline std::vector<std::size_t> case_numbers(const json& cases) {
  std::vector<std::size_t> out(cases.size());
  std::iota(out.begin(), out.end(), std::size_t{0});
  return out;
}
inline std::string case_name(const json& cases, std::size_t index) {
  const std::string rule = cases.at(index).at("weights");
  std::size_t before = 0;
  for (std::size_t i = 0; i < index; ++i) before += cases[i].at("weights") == rule ? 1 : 0;
  return before == 0 ? rule : rule + "_" + std::to_string(before + 1);
}

/// Whether the file leaves this out, which it may do with ties only: it says so in a sentence.
inline bool is_tie(const json& entry) {
  if (!entry.is_object() || !entry.contains("omitted")) return false;
  EXPECT_NE(entry.at("omitted").get<std::string>(), "");
  return true;
}

/// A number from runs that differ in nothing but rounding, ours first. Where they agree within `tolerance` of it,
/// theirs must agree with ours. Where they do not it is a tie, and theirs lies in their range, widened by its width.
inline void expect_number(const std::vector<double>& runs, double theirs, double tolerance, const std::string& what) {
  const auto [least, most] = std::minmax_element(runs.begin(), runs.end());
  const double width = *most - *least;
  if (width <= tolerance * std::abs(theirs)) {
    EXPECT_TRUE(relative(runs[0], theirs, tolerance)) << what;
  } else {
    EXPECT_TRUE(theirs >= *least - width && theirs <= *most + width)
        << what << ": " << theirs << " is not near " << *least << " .. " << *most;
  }
}

/// The number that follows a word in a sentence of the file: ("FrozenBatchNorm2d eps = 0.0", "eps =") -> 0.
inline double number_after(const std::string& text, const std::string& word) {
  const auto at = text.find(word);
  if (at == std::string::npos) throw std::runtime_error("no '" + word + "' in '" + text + "'");
  return std::stod(text.substr(at + word.size()));
}

/// The gradients of `total` for the parameters that the file names, in float64; 0 where none arrives.
inline std::map<std::string, Tensor> gradients_of(const torch::nn::Module& net, const Tensor& total,
                                                  const json& named) {
  const auto parameters = net.named_parameters();
  std::vector<Tensor> inputs;
  std::vector<std::string> names;
  for (const auto& [name, norm] : named.items()) {
    inputs.push_back(parameters[name]);
    names.push_back(name);
  }
  const auto gradients = torch::autograd::grad({total}, inputs, {}, /*retain_graph=*/true, /*create_graph=*/false,
                                               /*allow_unused=*/true);
  std::map<std::string, Tensor> out;
  for (std::size_t i = 0; i < names.size(); ++i) {
    out[names[i]] = (gradients[i].defined() ? gradients[i] : torch::zeros_like(inputs[i])).to(torch::kFloat64);
  }
  return out;
}

}  // namespace golden
