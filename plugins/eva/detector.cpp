#include "eva/detector.h"

#include <cmath>
#include <map>
#include <string>

#include "eva/decode.h"

namespace eva {
namespace {

constexpr std::int64_t kStride = 32;

/// 0: embeddings, k + 1: block k, depth + 1: everything after the blocks.
std::int64_t layer_of(const std::string& name, std::int64_t depth) {
  const std::string net = "backbone.net.", blocks = net + "blocks.";
  if (name.compare(0, blocks.size(), blocks) == 0) return std::stoll(name.substr(blocks.size())) + 1;
  return name.compare(0, net.size(), net) == 0 ? 0 : depth + 1;
}

}  // namespace

bdc::plugin::DetectorInfo Detector::describe() {
  bdc::plugin::DetectorInfo info;
  info.version = "1.0.0";
  info.description = "EVA-02: plain vision transformer, simple feature pyramid, three-stage cascade";
  info.input_size = 1024;
  info.min_input_size = 64;
  info.stride = kStride;
  info.optimizer = {"adamw", 5e-5, 0.9, 0.1, 8};
  info.detections = {0.05, 0.5, 100};
  info.options = option_specs();
  info.capabilities = {"roi_heads"};
  return info;
}

Detector::Detector(const bdc::plugin::DetectorConfig& config) : Detector(settings_of(config)) {}

Detector::Detector(Settings settings)
    : settings_(std::move(settings)), net_(std::make_shared<Network>(settings_.network)) {}

std::unique_ptr<bdc::plugin::Activations> Detector::forward(const bdc::plugin::Images& images) {
  std::vector<parts::ImageSize> sizes;
  const std::int64_t height = images.pixels.size(2), width = images.pixels.size(3);
  for (std::int64_t b = 0; b < images.pixels.size(0); ++b) {
    parts::ImageSize size{height, width};
    if (static_cast<std::size_t>(b) < images.meta.size()) {
      const auto& meta = images.meta[static_cast<std::size_t>(b)];
      if (meta.content_height > 0 && meta.content_height < height) size.height = meta.content_height;
      if (meta.content_width > 0 && meta.content_width < width) size.width = meta.content_width;
    }
    sizes.push_back(size);
  }
  return net_->forward(normalised(images.pixels, sizes), sizes);
}

bdc::plugin::Predictions Detector::decode(const bdc::plugin::Activations& activations,
                                          const bdc::plugin::DecodeOptions& options) {
  return predictions(*net_, static_cast<const Features&>(activations), settings_.test_proposals, options);
}

bdc::plugin::Detections Detector::decode_detections(const bdc::plugin::Activations& activations,
                                                    const bdc::plugin::DecodeOptions& options) {
  const auto& features = static_cast<const Features&>(activations);
  return detections(*net_, features, boxes_of(parts::propose(features.rpn, features.images, settings_.test_proposals)),
                    options);
}

bdc::plugin::LossTerms Detector::loss(const bdc::plugin::Activations& activations,
                                      const bdc::plugin::Targets& targets) {
  return soft_loss(*net_, static_cast<const Features&>(activations), targets, settings_.loss);
}

bdc::plugin::LossTerms Detector::hard_loss(const bdc::plugin::Activations& activations,
                                           const bdc::plugin::HardTargets& targets) {
  return eva::hard_loss(*net_, static_cast<const Features&>(activations), targets, settings_.loss);
}

std::vector<bdc::plugin::ParameterGroup> Detector::parameter_groups() {
  const std::int64_t depth = settings_.network.vit.depth;
  std::map<std::pair<std::int64_t, int>, bdc::plugin::ParameterGroup> groups;  // by layer; weights first
  for (const auto& item : net_->named_parameters()) {
    if (!item.value().requires_grad()) continue;
    const std::int64_t layer = layer_of(item.key(), depth);
    const bool weight = item.value().dim() > 1 && item.key() != "backbone.net.pos_embed";
    auto& group = groups[{layer, weight ? 0 : 1}];
    if (group.parameters.empty()) {
      const std::string part = layer == 0      ? "embeddings"
                               : layer > depth ? "pyramid and heads"
                                               : "block " + std::to_string(layer - 1);
      group.name = part + (weight ? ": weights" : layer == 0 ? ": positions and biases" : ": norms and biases");
      group.learning_rate_factor = std::pow(settings_.layer_decay, static_cast<double>(depth + 1 - layer));
      group.weight_decay_factor = weight ? 1.0 : 0.0;
    }
    group.parameters.push_back(item.value());
  }
  std::vector<bdc::plugin::ParameterGroup> out;
  for (auto& [key, group] : groups) out.push_back(std::move(group));
  return out;
}

}  // namespace eva
