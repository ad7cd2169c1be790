#include "eva/block.h"

namespace eva {
namespace {

torch::nn::LayerNorm norm_of(std::int64_t dim) {
  return torch::nn::LayerNorm(torch::nn::LayerNormOptions({dim}).eps(kNormEpsilon));
}

}  // namespace

SwiGlu::SwiGlu(std::int64_t dim, std::int64_t hidden) {
  w1_ = register_module("w1", torch::nn::Linear(dim, hidden));
  w2_ = register_module("w2", torch::nn::Linear(dim, hidden));
  ffn_ln_ = register_module("ffn_ln", norm_of(hidden));
  w3_ = register_module("w3", torch::nn::Linear(hidden, dim));
}

Tensor SwiGlu::forward(const Tensor& x) {
  return w3_->forward(ffn_ln_->forward(torch::silu(w1_->forward(x)) * w2_->forward(x)));
}

Block::Block(const BlockOptions& options, std::shared_ptr<Rope> rope) : options_(options) {
  if (options.layer_scale > 0) {
    gamma_1_ = register_parameter("gamma_1", torch::full({options.dim}, options.layer_scale));
    gamma_2_ = register_parameter("gamma_2", torch::full({options.dim}, options.layer_scale));
  }
  norm1_ = register_module("norm1", norm_of(options.dim));
  attn_ = register_module("attn", std::make_shared<Attention>(options.dim, options.heads, std::move(rope)));
  norm2_ = register_module("norm2", norm_of(options.dim));
  mlp_ = register_module("mlp", std::make_shared<SwiGlu>(options.dim, options.hidden));
}

Tensor Block::branch(const Tensor& y, const Tensor& gamma) {
  const Tensor scaled = gamma.defined() ? y * gamma : y;
  if (!draws_random_numbers()) return scaled;
  const double kept = 1 - options_.drop_path;
  return scaled * (torch::rand({y.size(0), 1, 1, 1}, y.options()) < kept).to(y.dtype()) / kept;
}

Tensor Block::forward(const Tensor& x, const Watch& watch) {
  Tensor mixed = norm1_->forward(x);
  if (options_.window > 0) {
    Windows windows = cut_windows(mixed, options_.window);
    windows.tokens = attn_->forward(windows.tokens);
    if (watch) watch("attn", windows.tokens);
    mixed = join_windows(windows, x.size(1), x.size(2));
  } else {
    mixed = attn_->forward(mixed);
    if (watch) watch("attn", mixed);
  }
  const Tensor middle = x + branch(mixed, gamma_1_);
  const Tensor fed = mlp_->forward(norm2_->forward(middle));
  if (watch) watch("mlp", fed);
  return middle + branch(fed, gamma_2_);
}

}  // namespace eva
