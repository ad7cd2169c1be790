#pragma once

/// Reads frcnn.json and rebuilds its detectors and images.

#include <torch/nn.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "frcnn/detector.h"
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

inline std::int64_t num_classes() {
  for (const auto& row : file().at("state_dict")) {
    if (row.at(0) == "roi_heads.box_predictor.cls_score.bias") return row.at(1).at(0).get<std::int64_t>() - 1;
  }
  throw std::runtime_error("frcnn.json: the state_dict has no class layer");
}

/// The detector of a case, built from its model_kwargs.
inline std::unique_ptr<frcnn::Detector> detector(const json& kwargs) {
  std::map<std::string, bdc::plugin::OptionValue> options;
  for (const auto& spec : frcnn::Detector::describe().options) options[spec.name] = spec.default_value;
  options["norm_eps"] = golden::number_after(file().at("how_built"), "FrozenBatchNorm2d eps =");
  const std::map<std::string, std::string> names{{"rpn_pre_nms_top_n_train", "rpn_pre_nms_train"},
                                                 {"rpn_pre_nms_top_n_test", "rpn_pre_nms_test"},
                                                 {"rpn_post_nms_top_n_train", "rpn_post_nms_train"},
                                                 {"rpn_post_nms_top_n_test", "rpn_post_nms_test"}};
  for (const auto& [name, value] : kwargs.items()) {
    const auto ours = names.find(name);
    const std::string option = ours == names.end() ? name : ours->second;
    if (options.count(option) == 0) throw std::runtime_error("frcnn.json: unknown model_kwargs " + name);
    options[option] = value.get<std::int64_t>();
  }
  torch::manual_seed(1);
  return std::make_unique<frcnn::Detector>(
      bdc::plugin::DetectorConfig{num_classes(), 640, bdc::plugin::Options(options)});
}

/// A case of the file with its detector, filled, and its images in one batch.
struct Case {
  explicit Case(std::size_t index) : data(file().at("cases").at(index)) {
    detector = frcnn_golden::detector(data.at("model_kwargs"));
    net = &dynamic_cast<frcnn::Network&>(detector->module());
    golden::fill(*net, data.at("weights"), file());
    const golden::ImageRule rule(data.at("image"));
    const json& shapes = data.at("image_shapes");
    std::int64_t height = 0, width = 0;
    for (const json& shape : shapes) {
      contents.push_back({shape.at(1), shape.at(2)});
      height = std::max(height, contents.back().height);
      width = std::max(width, contents.back().width);
    }
    // Whatever stands in the padding must not matter, nor how much there is of it.
    pixels = torch::full({golden::rows_of(shapes), 3, height + 8, width + 20}, 0.5);
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      pixels[static_cast<std::int64_t>(i)]
          .slice(1, 0, contents[i].height)
          .slice(2, 0, contents[i].width)
          .copy_(golden::image(rule.rule(), golden::integers(shapes[i]), rule.name(i)));
    }
  }
  [[nodiscard]] std::size_t images() const { return contents.size(); }
  [[nodiscard]] bdc::plugin::Images input() const {
    bdc::plugin::Images out{pixels, {}};
    for (const ImageSize& size : contents) {
      out.meta.push_back({rows(out.meta), size.width, size.height, size.width, size.height, {}});
    }
    return out;
  }
  /// mode: "train" or "test".
  [[nodiscard]] parts::ProposalOptions proposals(const std::string& mode) const {
    const json& k = data.at("model_kwargs");
    return {k.at("rpn_pre_nms_top_n_" + mode), k.at("rpn_post_nms_top_n_" + mode), 0.7, 1e-3};
  }
  json data;
  std::unique_ptr<frcnn::Detector> detector;
  frcnn::Network* net;  ///< the detector's
  Tensor pixels;
  std::vector<ImageSize> contents;

 private:
  static std::int64_t rows(const std::vector<bdc::plugin::ImageMeta>& list) {
    return static_cast<std::int64_t>(list.size());
  }
};

inline std::vector<std::size_t> all_cases() {
  return golden::case_numbers(file().at("cases"));
}
/// Those whose proposals are no ties.
inline std::vector<std::size_t> cases_with_proposals() {
  std::vector<std::size_t> out;
  for (const std::size_t i : all_cases()) {
    if (file().at("cases")[i].at("proposals_eval").is_array()) out.push_back(i);
  }
  return out;
}
inline std::string case_name(const ::testing::TestParamInfo<std::size_t>& info) {
  return golden::case_name(file().at("cases"), info.param);
}

}  // namespace frcnn_golden
