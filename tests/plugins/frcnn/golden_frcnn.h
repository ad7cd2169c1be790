#pragma once

/// Reads tests/golden/detectors/frcnn.json and rebuilds its networks and images.

#include <torch/nn.h>

#include <memory>
#include <string>
#include <vector>

#include "frcnn/network.h"
#include "support/golden_rules.h"

namespace frcnn_golden {

using frcnn::ImageSize;
using golden::json;
using torch::Tensor;

inline const json& file() {
  static const json data = [] {
    json out = golden::file("frcnn.json");
    out["constant_tensors"] = json::object();
    return out;
  }();
  return data;
}

inline std::shared_ptr<frcnn::Network> network(const json& kwargs) {
  frcnn::NetworkOptions options;
  options.backbone.norm_eps = 0;
  options.transform = {kwargs.at("min_size"), kwargs.at("max_size")};
  torch::manual_seed(1);
  return std::make_shared<frcnn::Network>(20, options);
}

/// A case of the file with its network, filled, and its images in one batch.
struct Case {
  explicit Case(std::size_t index) : data(file().at("cases").at(index)) {
    const std::string rule = data.at("weights");
    net = network(data.at("model_kwargs"));
    golden::fill(*net, rule, file());
    pixels = torch::full({2, 3, 128, 160}, 0.5);  // whatever stands in the padding must not matter
    for (std::size_t i = 0; i < 2; ++i) {
      const auto shape = data.at("image_shapes").at(i).get<std::vector<std::int64_t>>();
      contents.push_back({shape[1], shape[2]});
      pixels[static_cast<std::int64_t>(i)]
          .slice(1, 0, shape[1])
          .slice(2, 0, shape[2])
          .copy_(golden::image(rule, shape, "image" + std::to_string(i)));
    }
  }
  /// "pre" or "post", "train" or "test".
  [[nodiscard]] two_stage::ProposalOptions proposals(const std::string& mode) const {
    const json& k = data.at("model_kwargs");
    return {k.at("rpn_pre_nms_top_n_" + mode), k.at("rpn_post_nms_top_n_" + mode), 0.7, 1e-3};
  }
  json data;
  std::shared_ptr<frcnn::Network> net;
  Tensor pixels;
  std::vector<ImageSize> contents;
};

inline const char* case_name(const ::testing::TestParamInfo<std::size_t>& info) {
  return info.param == 0 ? "sine" : "hash";
}

}  // namespace frcnn_golden
