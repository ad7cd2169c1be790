#pragma once

#include <torch/nn.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "eva/vit.h"

namespace eva {

/// Layer norm over the channels of B x C x H x W.
class ChannelNorm : public torch::nn::Module {
 public:
  explicit ChannelNorm(std::int64_t channels);
  [[nodiscard]] Tensor forward(const Tensor& x);

 private:
  Tensor weight_, bias_;
};

/// Convolution without bias that keeps the size, then ChannelNorm. Parameters weight, norm.weight, norm.bias.
class NormConv : public torch::nn::Module {
 public:
  NormConv(std::int64_t in, std::int64_t out, std::int64_t kernel);
  [[nodiscard]] Tensor forward(const Tensor& x);
  [[nodiscard]] Tensor& weight() { return weight_; }

 private:
  std::int64_t kernel_;
  Tensor weight_;
  std::shared_ptr<ChannelNorm> norm_;
};

/// The transformer and, from its last map alone, five levels of features at 4, 2, 1, 1/2 and 1/4 of its resolution
/// (strides 4 to 64 for patches of 16). The official names: net, simfp_2 .. simfp_5, whatever the patch.
class Backbone : public torch::nn::Module {
 public:
  Backbone(const VitOptions& options, std::int64_t channels);

  /// pixels: as for Vit, edges multiples of twice the patch. Five maps of B x channels, finest first.
  [[nodiscard]] std::vector<Tensor> forward(const Tensor& pixels, const Watch& watch = {});

 private:
  std::vector<torch::nn::ConvTranspose2d> up_;  ///< two of simfp_2, one of simfp_3
  std::shared_ptr<ChannelNorm> up_norm_;
  std::vector<std::shared_ptr<NormConv>> lateral_, output_;
  std::shared_ptr<Vit> net_;
};

}  // namespace eva
