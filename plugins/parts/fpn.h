#pragma once

#include <torch/nn.h>

#include "parts/boxes.h"

namespace parts {

/// Feature pyramid: every level is mapped to the same width by a 1 x 1 convolution, receives the coarser level enlarged
/// (nearest), and leaves through a 3 x 3 convolution; one more level takes every second cell of the coarsest.
/// Parameters are inner_blocks.k.0 and layer_blocks.k.0, as in torchvision.
class FeaturePyramid : public torch::nn::Module {
 public:
  FeaturePyramid(const std::vector<std::int64_t>& in_channels, std::int64_t out_channels);

  /// levels: finest first, B x in_channels[k] x h x w -> one more level than came.
  [[nodiscard]] std::vector<Tensor> forward(const std::vector<Tensor>& levels);

 private:
  std::vector<torch::nn::Conv2d> inner_, layer_;
};

}  // namespace parts
