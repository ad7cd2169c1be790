#pragma once

#include <array>
#include <functional>
#include <string>
#include <vector>

#include "parts/norm.h"

namespace parts {

struct ResNetOptions {
  std::string kind = "resnet50";  ///< resnet18, resnet34, resnet50 or resnet101
  double width = 1;               ///< factor of all channels, rounded to multiples of 8
  NormKind norm = NormKind::frozen;
  double norm_eps = 1e-5;
};

/// Channels of a network made wider or narrower: a multiple of 8, at least 8.
[[nodiscard]] std::int64_t scaled_channels(std::int64_t channels, double width);

/// One residual block: basic (two 3 x 3) or bottleneck (1 x 1, 3 x 3, 1 x 1; the stride is in the 3 x 3).
class ResidualBlock : public torch::nn::Module {
 public:
  ResidualBlock(bool bottleneck, std::int64_t in, std::int64_t planes, std::int64_t out, std::int64_t stride,
                const ResNetOptions& options);
  [[nodiscard]] Tensor forward(const Tensor& x);
  void fold();

 private:
  std::vector<NormedConv> convs_;
  NormedConv shortcut_;
  bool has_shortcut_ = false;
};

/// ResNet without its classifier. Parameters are named as torchvision's (conv1, bn1, layer1.0.conv1, ...).
class ResNet : public torch::nn::Module {
 public:
  explicit ResNet(const ResNetOptions& options);

  /// B x 3 x H x W -> layer1..layer4, strides 4, 8, 16, 32.
  [[nodiscard]] std::vector<Tensor> forward(const Tensor& pixels);
  [[nodiscard]] const std::vector<std::int64_t>& channels() const { return channels_; }

  /// Leaves gradients to the last `stages` of conv1, layer1, ..., layer4 (0..5); the rest is constant. 5: all.
  void train_last(std::int64_t stages);
  void fold();

 private:
  NormedConv stem_;
  std::array<std::vector<std::shared_ptr<ResidualBlock>>, 4> stages_;
  std::vector<std::int64_t> channels_;
};

}  // namespace parts
