#pragma once

/// Reads yolov7*.json and rebuilds what they are about: weights and images come from formulas.

#include <gtest/gtest.h>
#include <torch/nn.h>

#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "support/golden_rules.h"
#include "yolov7/detector.h"
#include "yolov7/network.h"

namespace yolov7_golden {

using golden::expect_summary;
using golden::file;
using golden::fill;
using golden::image;
using golden::json;
using golden::relative;
using golden::tolerance_of;
using torch::Tensor;

/// The network of a file, in evaluation mode (batch norms frozen, as in the file), with gradients. Weights as built.
[[nodiscard]] std::shared_ptr<yolov7::Network> network(const json& golden);

/// The detector of a file. labels_per_box: "every" or "best". Weights as built.
[[nodiscard]] std::unique_ptr<yolov7::Detector> detector(const json& golden, const std::string& labels_per_box);

/// Rows of a level in the file's shape, B x anchors x h x w x columns.
[[nodiscard]] Tensor in_file_order(const yolov7::Heads& heads, std::size_t level, const Tensor& rows);

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
