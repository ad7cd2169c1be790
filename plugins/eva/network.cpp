#include "eva/network.h"

#include <torch/csrc/autograd/custom_function.h>

#include <cmath>
#include <stdexcept>
#include <string>

#include "parts/few_numbers.h"
#include "parts/modules.h"

namespace eva {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// The identity, whose gradient is multiplied by `factor`.
struct ScaleGradient : torch::autograd::Function<ScaleGradient> {
  static Tensor forward(AutogradContext* context, const Tensor& x, double factor) {
    context->saved_data["factor"] = factor;
    return x.view_as(x);
  }
  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    return {gradients[0] * context->saved_data["factor"].toDouble(), Tensor()};
  }
};

constexpr std::int64_t kPooled = 7;

}  // namespace

parts::BoxCoder stage_coder(std::size_t stage) {
  const double factor = static_cast<double>(stage + 1);
  parts::BoxCoder coder;
  coder.weights = {10 * factor, 10 * factor, 5 * factor, 5 * factor};
  return coder;
}

BoxHead::BoxHead(std::int64_t channels, std::int64_t convs, std::int64_t width) {
  for (std::int64_t i = 1; i <= convs; ++i) {
    convs_.push_back(register_module("conv" + std::to_string(i), std::make_shared<NormConv>(channels, channels, 3)));
    torch::nn::init::kaiming_normal_(convs_.back()->weight(), 0, torch::kFanOut, torch::kReLU);
  }
  fc1_ = register_module("fc1", torch::nn::Linear(channels * kPooled * kPooled, width));
  torch::nn::init::kaiming_uniform_(fc1_->weight, 1);
  torch::nn::init::zeros_(fc1_->bias);
}

Tensor BoxHead::forward(const Tensor& pooled) {
  Tensor x = pooled;
  for (const auto& conv : convs_) x = conv->forward(x).relu();
  return fc1_->forward(x.flatten(1)).relu();
}

Network::Network(const NetworkOptions& options) : options_(options) {
  const std::int64_t patch = options.vit.patch;
  if (patch < 4 || (patch & (patch - 1)) != 0) {
    throw std::invalid_argument("option 'patch': expected a power of 2, at least 4, found " + std::to_string(patch));
  }
  check_options(options.vit);
  backbone_ = register_module("backbone", std::make_shared<Backbone>(options.vit, options.pyramid_channels));
  parts::RpnNames names;
  names.convs.clear();
  for (std::int64_t i = 0; i < options.rpn_convs; ++i) {
    names.convs.push_back(options.rpn_convs == 1 ? "conv" : "conv.conv" + std::to_string(i));
  }
  names.objectness = "objectness_logits";
  names.deltas = "anchor_deltas";
  rpn_ = parts::register_at(*this, "proposal_generator.rpn_head",
                            std::make_shared<parts::RpnHead>(options.pyramid_channels, anchors().per_cell(), names));
  const auto roi_heads = register_module("roi_heads", std::make_shared<torch::nn::Module>());
  for (std::size_t s = 0; s < kStages; ++s) {
    box_head_.push_back(parts::register_at(
        *roi_heads, "box_head." + std::to_string(s),
        std::make_shared<BoxHead>(options.pyramid_channels, options.head_convs, options.head_width)));
  }
  for (std::size_t s = 0; s < kStages; ++s) {
    const std::string name = "box_predictor." + std::to_string(s);
    const auto linear = [&](const char* what, std::int64_t out, double deviation) {
      torch::nn::Linear made(options.head_width, out);
      torch::nn::init::normal_(made->weight, 0, deviation);
      torch::nn::init::zeros_(made->bias);
      parts::register_at(*roi_heads, name + "." + what, made.ptr());
      return made;
    };
    cls_score_.push_back(linear("cls_score", options.classes + 1, 0.01));
    bbox_pred_.push_back(linear("bbox_pred", 4, 0.001));
  }
  pool_.output_size = kPooled;
  pool_.sampling_ratio = 0;
  pool_.aligned = true;
  pool_.inside = 1e-8;
  pool_.outside = 0;
}

std::vector<std::int64_t> Network::strides() const {
  const std::int64_t patch = options_.vit.patch;
  return {patch / 4, patch / 2, patch, 2 * patch, 4 * patch};
}

parts::AnchorOptions Network::anchors() const {
  parts::AnchorOptions out;
  out.sizes.clear();
  for (const std::int64_t stride : strides()) out.sizes.push_back({8.0 * static_cast<double>(stride)});
  out.ratios = {0.5, 1.0, 2.0};
  out.rounded = false;
  return out;
}

std::unique_ptr<Features> Network::forward(const Tensor& pixels, std::vector<parts::ImageSize> images) {
  const std::int64_t unit = 2 * options_.vit.patch;
  if (pixels.dim() != 4 || pixels.size(2) % unit != 0 || pixels.size(3) % unit != 0) {
    throw std::invalid_argument("eva: images must be B x 3 x H x W with H and W multiples of " + std::to_string(unit));
  }
  auto out = std::make_unique<Features>();
  out->levels = backbone_->forward(pixels);
  out->raw = rpn_->forward(out->levels);
  std::vector<parts::ImageSize> grids;
  std::vector<parts::Stride> steps;
  for (std::size_t l = 0; l < out->levels.size(); ++l) {
    grids.push_back({out->levels[l].size(2), out->levels[l].size(3)});
    steps.push_back({strides()[l], strides()[l]});
  }
  out->rpn = parts::flatten(out->raw, parts::grid_anchors(anchors(), grids, steps, pixels.device()));
  out->images = std::move(images);
  return out;
}

StageScores Network::run_stage(std::size_t stage, const Features& features, const Tensor& boxes, const Tensor& image,
                               bool in_training) {
  auto steps = strides();
  steps.pop_back();  // the coarsest level is for proposals only
  const std::vector<Tensor> levels(features.levels.begin(), features.levels.end() - 1);
  const auto pooled = pool_.pool(levels, steps, boxes, image);
  const Tensor input = in_training ? ScaleGradient::apply(pooled.features, 1.0 / kStages) : pooled.features;
  const Tensor seen = box_head_[stage]->forward(input);
  return {pooled.in_order(cls_score_[stage]->forward(seen)), pooled.in_order(bbox_pred_[stage]->forward(seen))};
}

Tensor normalised(const Tensor& pixels, const std::vector<parts::ImageSize>& images) {
  const auto channel = [&](double r, double g, double b) {
    return parts::few_numbers({r, g, b}, pixels).view({1, 3, 1, 1});
  };
  Tensor out = (pixels * 255 - channel(123.675, 116.28, 103.53)) / channel(58.395, 57.12, 57.375);
  for (std::size_t b = 0; b < images.size(); ++b) {
    const Tensor one = out.select(0, static_cast<std::int64_t>(b));
    if (images[b].height < pixels.size(2)) one.slice(1, images[b].height).zero_();
    if (images[b].width < pixels.size(3)) one.slice(2, images[b].width).zero_();
  }
  return out;
}

}  // namespace eva
