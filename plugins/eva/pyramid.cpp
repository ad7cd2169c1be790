#include "eva/pyramid.h"

#include <cmath>
#include <string>

namespace eva {

ChannelNorm::ChannelNorm(std::int64_t channels) {
  weight_ = register_parameter("weight", torch::ones({channels}));
  bias_ = register_parameter("bias", torch::zeros({channels}));
}

Tensor ChannelNorm::forward(const Tensor& x) {
  return torch::layer_norm(x.permute({0, 2, 3, 1}), {x.size(1)}, weight_, bias_, kNormEpsilon).permute({0, 3, 1, 2});
}

NormConv::NormConv(std::int64_t in, std::int64_t out, std::int64_t kernel) : kernel_(kernel) {
  weight_ = register_parameter("weight", torch::empty({out, in, kernel, kernel}));
  norm_ = register_module("norm", std::make_shared<ChannelNorm>(out));
  torch::nn::init::kaiming_uniform_(weight_, std::sqrt(5.0));
}

Tensor NormConv::forward(const Tensor& x) {
  return norm_->forward(torch::conv2d(x, weight_, {}, 1, kernel_ / 2));
}

Backbone::Backbone(const VitOptions& options, std::int64_t channels) {
  const std::int64_t dim = options.dim;
  const auto twice = [](torch::nn::Module& stage, int at, std::int64_t in, std::int64_t out) {
    return stage.register_module(std::to_string(at),
                                 torch::nn::ConvTranspose2d(torch::nn::ConvTranspose2dOptions(in, out, 2).stride(2)));
  };
  const std::int64_t widths[4] = {dim / 4, dim / 2, dim, dim};
  const int first[4] = {4, 1, 0, 1};  // place of the lateral convolution in its official sequence
  for (int s = 0; s < 4; ++s) {
    const auto stage = register_module("simfp_" + std::to_string(s + 2), std::make_shared<torch::nn::Module>());
    if (s == 0) {
      up_.push_back(twice(*stage, 0, dim, dim / 2));
      up_norm_ = stage->register_module("1", std::make_shared<ChannelNorm>(dim / 2));
      up_.push_back(twice(*stage, 3, dim / 2, dim / 4));
    } else if (s == 1) {
      up_.push_back(twice(*stage, 0, dim, dim / 2));
    }
    lateral_.push_back(
        stage->register_module(std::to_string(first[s]), std::make_shared<NormConv>(widths[s], channels, 1)));
    output_.push_back(
        stage->register_module(std::to_string(first[s] + 1), std::make_shared<NormConv>(channels, channels, 3)));
  }
  net_ = register_module("net", std::make_shared<Vit>(options));
}

std::vector<Tensor> Backbone::forward(const Tensor& pixels, const Watch& watch) {
  const Tensor map = net_->forward(pixels, watch);
  const Tensor inputs[4] = {up_[1]->forward(torch::gelu(up_norm_->forward(up_[0]->forward(map)))), up_[2]->forward(map),
                            map, torch::max_pool2d(map, 2, 2)};
  std::vector<Tensor> out;
  for (std::size_t s = 0; s < 4; ++s) out.push_back(output_[s]->forward(lateral_[s]->forward(inputs[s])));
  out.push_back(out.back().slice(2, 0, c10::nullopt, 2).slice(3, 0, c10::nullopt, 2));
  return out;
}

}  // namespace eva
