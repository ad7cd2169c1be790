#include "parts/resnet.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <stdexcept>

#include "parts/modules.h"

namespace parts {
namespace {

struct Plan {
  bool bottleneck;
  std::array<int, 4> blocks;
};

const Plan& plan_of(const std::string& kind) {
  static const std::map<std::string, Plan> plans{{"resnet18", {false, {2, 2, 2, 2}}},
                                                 {"resnet34", {false, {3, 4, 6, 3}}},
                                                 {"resnet50", {true, {3, 4, 6, 3}}},
                                                 {"resnet101", {true, {3, 4, 23, 3}}}};
  const auto it = plans.find(kind);
  if (it == plans.end()) {
    throw std::invalid_argument("option 'backbone': expected resnet18, resnet34, resnet50 or resnet101, found '" +
                                kind + "'");
  }
  return it->second;
}

}  // namespace

std::int64_t scaled_channels(std::int64_t channels, double width) {
  return std::max<std::int64_t>(8, std::llround(static_cast<double>(channels) * width / 8.0) * 8);
}

ResidualBlock::ResidualBlock(bool bottleneck, std::int64_t in, std::int64_t planes, std::int64_t out,
                             std::int64_t stride, const ResNetOptions& options) {
  const auto add = [&](std::int64_t from, std::int64_t to, std::int64_t kernel, std::int64_t step) {
    const std::string n = std::to_string(convs_.size() + 1);
    convs_.emplace_back(*this, "conv" + n, "bn" + n, from, to, kernel, step, options.norm, options.norm_eps);
  };
  if (bottleneck) {
    add(in, planes, 1, 1);
    add(planes, planes, 3, stride);
    add(planes, out, 1, 1);
  } else {
    add(in, planes, 3, stride);
    add(planes, out, 3, 1);
  }
  has_shortcut_ = stride != 1 || in != out;
  if (!has_shortcut_) return;
  const auto downsample = register_module("downsample", std::make_shared<torch::nn::Module>());
  shortcut_ = NormedConv(*downsample, "0", "1", in, out, 1, stride, options.norm, options.norm_eps);
}

Tensor ResidualBlock::forward(const Tensor& x) {
  Tensor y = x;
  for (std::size_t i = 0; i < convs_.size(); ++i) {
    y = convs_[i](y);
    if (i + 1 < convs_.size()) y.relu_();
  }
  return y.add_(has_shortcut_ ? shortcut_(x) : x).relu_();
}

void ResidualBlock::fold() {
  for (auto& conv : convs_) conv.fold();
  if (has_shortcut_) shortcut_.fold();
}

ResNet::ResNet(const ResNetOptions& options) {
  const Plan& plan = plan_of(options.kind);
  const auto scaled = [&](std::int64_t channels) { return scaled_channels(channels, options.width); };
  stem_ = NormedConv(*this, "conv1", "bn1", 3, scaled(64), 7, 2, options.norm, options.norm_eps);
  std::int64_t in = scaled(64);
  for (std::size_t s = 0; s < 4; ++s) {
    const std::int64_t planes = scaled(std::int64_t{64} << s), out = plan.bottleneck ? 4 * planes : planes;
    for (int b = 0; b < plan.blocks[s]; ++b) {
      const std::int64_t stride = s > 0 && b == 0 ? 2 : 1;
      stages_[s].push_back(
          register_at(*this, "layer" + std::to_string(s + 1) + "." + std::to_string(b),
                      std::make_shared<ResidualBlock>(plan.bottleneck, in, planes, out, stride, options)));
      in = out;
    }
    channels_.push_back(out);
  }
}

std::vector<Tensor> ResNet::forward(const Tensor& pixels) {
  Tensor x = torch::max_pool2d(stem_(pixels).relu_(), 3, 2, 1);
  std::vector<Tensor> out;
  for (auto& stage : stages_) {
    for (auto& block : stage) x = block->forward(x);
    out.push_back(x);
  }
  return out;
}

void ResNet::train_last(std::int64_t stages) {
  const std::vector<std::string> order{"layer4.", "layer3.", "layer2.", "layer1.", "conv1."};
  for (auto& item : named_parameters()) {
    bool learns = stages >= 5;
    for (std::size_t s = 0; s < std::min<std::size_t>(5, static_cast<std::size_t>(stages)); ++s) {
      learns = learns || item.key().compare(0, order[s].size(), order[s]) == 0;
    }
    item.value().set_requires_grad(learns);
  }
}

void ResNet::fold() {
  stem_.fold();
  for (auto& stage : stages_) {
    for (auto& block : stage) block->fold();
  }
}

}  // namespace parts
