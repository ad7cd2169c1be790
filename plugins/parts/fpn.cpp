#include "parts/fpn.h"

#include <string>

#include "parts/modules.h"

namespace parts {
namespace {

torch::nn::Conv2d conv(torch::nn::Module& parent, const std::string& name, std::int64_t in, std::int64_t out,
                       std::int64_t kernel) {
  torch::nn::Conv2d made(torch::nn::Conv2dOptions(in, out, kernel).padding(kernel / 2));
  torch::nn::init::kaiming_uniform_(made->weight, 1);
  torch::nn::init::zeros_(made->bias);
  register_at(parent, name, made.ptr());
  return made;
}

}  // namespace

FeaturePyramid::FeaturePyramid(const std::vector<std::int64_t>& in_channels, std::int64_t out_channels) {
  for (std::size_t k = 0; k < in_channels.size(); ++k) {
    inner_.push_back(conv(*this, "inner_blocks." + std::to_string(k) + ".0", in_channels[k], out_channels, 1));
  }
  for (std::size_t k = 0; k < in_channels.size(); ++k) {
    layer_.push_back(conv(*this, "layer_blocks." + std::to_string(k) + ".0", out_channels, out_channels, 3));
  }
}

std::vector<Tensor> FeaturePyramid::forward(const std::vector<Tensor>& levels) {
  std::vector<Tensor> out(levels.size());
  Tensor coarser;
  for (std::size_t k = levels.size(); k-- > 0;) {
    Tensor inner = inner_[k](levels[k]);
    if (coarser.defined()) {
      inner = inner + torch::upsample_nearest2d(coarser, {inner.size(2), inner.size(3)});
    }
    out[k] = layer_[k](inner);
    coarser = inner;
  }
  out.push_back(torch::max_pool2d(out.back(), 1, 2));
  return out;
}

}  // namespace parts
