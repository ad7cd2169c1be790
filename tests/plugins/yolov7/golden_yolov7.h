#pragma once

/// Reads tests/golden/detectors/yolov7*.json and rebuilds its inputs: weights and images come from formulas.

#include <gtest/gtest.h>
#include <torch/nn.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <vector>

#include "yolov7/network.h"

namespace yolov7_golden {

using nlohmann::json;
using torch::Tensor;

/// "yolov7.json" or "yolov7_tiny.json".
[[nodiscard]] json file(const std::string& name);

/// The network of a file, in evaluation mode (batch norms frozen, as in the file), with gradients. Weights as built.
[[nodiscard]] std::shared_ptr<yolov7::Network> network(const json& golden);

/// Fills every tensor from its name by the rule "sine" or "hash".
void fill(yolov7::Network& net, const std::string& rule, const json& golden);

/// The input of a case: rule "sine" or "hash".
[[nodiscard]] Tensor image(const std::string& rule, const std::vector<std::int64_t>& shape);

/// Rows of a level in the file's shape, B x 3 x h x w x columns.
[[nodiscard]] Tensor in_file_order(const yolov7::Heads& heads, std::size_t level, const Tensor& rows);

/// Expects the tensor to have the summary's shape, samples, extremes and sums. `tolerance` is per element.
void expect_summary(const Tensor& actual, const json& summary, double tolerance, const std::string& what);

/// 20 times what float32 and float64 runs of the original differ by, at least 1e-6 of the largest value.
[[nodiscard]] double tolerance_of(const json& summary);

[[nodiscard]] ::testing::AssertionResult relative(double actual, double expected, double tolerance);

struct CaseName {
  std::string file;
  std::size_t index;
  std::string text;
};
inline void PrintTo(const CaseName& name, std::ostream* out) {
  *out << name.text;
}
[[nodiscard]] std::vector<CaseName> all_cases();
inline std::string name_of(const ::testing::TestParamInfo<CaseName>& info) {
  return info.param.text;
}

/// A case with its network, its weights filled in, and the activations of its image.
struct Case {
  explicit Case(const CaseName& name);
  json golden, data;
  std::shared_ptr<yolov7::Network> net;
  Tensor pixels;
};

}  // namespace yolov7_golden
