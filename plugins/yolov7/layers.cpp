#include "yolov7/layers.h"

#include <cmath>
#include <stdexcept>
#include <string>

namespace yolov7 {
namespace {

namespace F = torch::nn::functional;

torch::nn::Conv2d make_conv(std::int64_t in, std::int64_t out, std::int64_t kernel, std::int64_t stride, bool bias) {
  return torch::nn::Conv2d(torch::nn::Conv2dOptions(in, out, kernel).stride(stride).padding(kernel / 2).bias(bias));
}

torch::nn::BatchNorm2d make_norm(std::int64_t channels) {
  return torch::nn::BatchNorm2d(torch::nn::BatchNorm2dOptions(channels).eps(1e-3).momentum(0.03));
}

Tensor activate(const Tensor& x, Activation kind) {
  // The tensor is a batch norm's or a convolution's output, which nobody else looks at.
  Tensor out = x;
  if (kind == Activation::leaky) return torch::leaky_relu_(out, 0.1);
  return torch::GradMode::is_enabled() ? torch::silu(out) : torch::silu_(out);
}

/// A batch norm as y = scale x + shift, in double.
struct Affine {
  Tensor scale, shift;
};
Affine affine_of(const torch::nn::BatchNorm2d& bn) {
  const Tensor scale =
      bn->weight.to(torch::kFloat64) / (bn->running_var.to(torch::kFloat64) + bn->options.eps()).sqrt();
  return {scale, bn->bias.to(torch::kFloat64) - bn->running_mean.to(torch::kFloat64) * scale};
}

/// The convolution with `weight` and `bias` (float64), otherwise like `like`.
torch::nn::Conv2d conv_with(const torch::nn::Conv2d& like, const Tensor& weight, const Tensor& bias) {
  const Tensor& w = like->weight;
  auto out = make_conv(w.size(1), w.size(0), w.size(2), like->options.stride()->at(0), true);
  out->to(like->weight.device());
  out->weight.copy_(weight);
  out->bias.copy_(bias);
  for (auto& p : out->parameters()) p.set_requires_grad(false);
  return out;
}

}  // namespace

Conv::Conv(std::int64_t in, std::int64_t out, std::int64_t kernel, std::int64_t stride, Activation activation)
    : activation_(activation) {
  conv_ = register_module("conv", make_conv(in, out, kernel, stride, false));
  bn_ = register_module("bn", make_norm(out));
}

Tensor Conv::apply(const Tensor& x) {
  const Tensor y = conv_->forward(x);
  return activate(bn_ ? bn_->forward(y) : y, activation_);
}

void Conv::fuse() {
  if (!bn_) return;
  torch::NoGradGuard no_grad;
  const Affine norm = affine_of(bn_);
  conv_ = replace_module(
      "conv", conv_with(conv_, conv_->weight.to(torch::kFloat64) * norm.scale.view({-1, 1, 1, 1}), norm.shift));
  unregister_module("bn");
  bn_ = nullptr;
}

ConvChain::ConvChain(std::int64_t in, std::int64_t out, std::int64_t kernel, std::int64_t times,
                     Activation activation) {
  for (std::int64_t i = 0; i < times; ++i) {
    convs_.push_back(
        register_module(std::to_string(i), std::make_shared<Conv>(i == 0 ? in : out, out, kernel, 1, activation)));
  }
}

Tensor ConvChain::run(const std::vector<Tensor>& inputs) {
  Tensor x = inputs.at(0);
  for (const auto& conv : convs_) x = conv->apply(x);
  return x;
}

void ConvChain::fuse() {
  for (const auto& conv : convs_) conv->fuse();
}

RepConv::RepConv(std::int64_t in, std::int64_t out) {
  if (in == out) identity_ = register_module("rbr_identity", make_norm(in));
  dense_ = register_module("rbr_dense", torch::nn::Sequential(make_conv(in, out, 3, 1, false), make_norm(out)));
  pointwise_ = register_module("rbr_1x1", torch::nn::Sequential(make_conv(in, out, 1, 1, false), make_norm(out)));
}

Tensor RepConv::run(const std::vector<Tensor>& inputs) {
  const Tensor& x = inputs.at(0);
  if (fused_) return activate(fused_->forward(x), Activation::silu);
  Tensor sum = dense_->forward(x) + pointwise_->forward(x);
  if (identity_) sum = sum + identity_->forward(x);
  return activate(sum, Activation::silu);
}

void RepConv::fuse() {
  if (fused_) return;
  torch::NoGradGuard no_grad;
  const auto conv_of = [](torch::nn::Sequential& branch) {
    return torch::nn::Conv2d(std::dynamic_pointer_cast<torch::nn::Conv2dImpl>(branch->ptr(0)));
  };
  const auto norm_of = [](torch::nn::Sequential& branch) {
    return affine_of(torch::nn::BatchNorm2d(std::dynamic_pointer_cast<torch::nn::BatchNorm2dImpl>(branch->ptr(1))));
  };
  const auto column = [](const Tensor& t) { return t.view({-1, 1, 1, 1}); };
  const auto dense = conv_of(dense_), pointwise = conv_of(pointwise_);
  const Affine dense_norm = norm_of(dense_), pointwise_norm = norm_of(pointwise_);
  Tensor weight = dense->weight.to(torch::kFloat64) * column(dense_norm.scale);
  Tensor bias = dense_norm.shift + pointwise_norm.shift;
  Tensor centre = weight.slice(2, 1, 2).slice(3, 1, 2);
  centre += pointwise->weight.to(torch::kFloat64) * column(pointwise_norm.scale);
  if (identity_) {
    const Affine norm = affine_of(identity_);
    centre += torch::diag(norm.scale).view(centre.sizes());
    bias += norm.shift;
    unregister_module("rbr_identity");
    identity_ = nullptr;
  }
  fused_ = register_module("rbr_reparam", conv_with(dense, weight, bias));
  unregister_module("rbr_dense");
  unregister_module("rbr_1x1");
  dense_ = nullptr;
  pointwise_ = nullptr;
}

Sppcspc::Sppcspc(std::int64_t in, std::int64_t out, Activation activation) {
  const struct {
    std::int64_t in, kernel;
  } shapes[7] = {{in, 1}, {in, 1}, {out, 3}, {out, 1}, {4 * out, 1}, {out, 3}, {2 * out, 1}};
  for (std::size_t i = 0; i < 7; ++i) {
    cv_.push_back(register_module("cv" + std::to_string(i + 1),
                                  std::make_shared<Conv>(shapes[i].in, out, shapes[i].kernel, 1, activation)));
  }
}

Tensor Sppcspc::run(const std::vector<Tensor>& inputs) {
  const Tensor& x = inputs.at(0);
  const Tensor narrow = cv_[3]->apply(cv_[2]->apply(cv_[0]->apply(x)));
  const auto pool = [](const Tensor& t, std::int64_t kernel) { return torch::max_pool2d(t, kernel, 1, kernel / 2); };
  // 5, 9 and 13 by three pools of 5: a maximum of maxima.
  const Tensor by5 = pool(narrow, 5), by9 = pool(by5, 5), by13 = pool(by9, 5);
  const Tensor deep = cv_[5]->apply(cv_[4]->apply(torch::cat({narrow, by5, by9, by13}, 1)));
  return cv_[6]->apply(torch::cat({deep, cv_[1]->apply(x)}, 1));
}

void Sppcspc::fuse() {
  for (const auto& conv : cv_) conv->fuse();
}

Tensor Pool::run(const std::vector<Tensor>& inputs) {
  return torch::max_pool2d(inputs.at(0), kernel_, stride_, stride_ == 1 ? kernel_ / 2 : 0);
}

Tensor Upsample::run(const std::vector<Tensor>& inputs) {
  const Tensor& x = inputs.at(0);
  return torch::upsample_nearest2d(x, {2 * x.size(2), 2 * x.size(3)});
}

Detect::Detect(std::int64_t num_classes, const std::vector<std::int64_t>& channels, const std::vector<double>& anchors)
    : outputs_(5 + num_classes) {
  if (channels.size() != 3) throw std::invalid_argument("yolov7: the head needs three levels");
  anchors_ = register_buffer("anchors", torch::zeros({3, kAnchors, 2}));
  anchor_grid_ = register_buffer("anchor_grid", torch::zeros({3, 1, kAnchors, 1, 1, 2}));
  set_anchors(anchors);
  const auto list = [&](const char* name) { return register_module(name, std::make_shared<torch::nn::Module>()); };
  const auto m = list("m"), ia = list("ia"), im = list("im");
  /// A module that holds one tensor named "implicit".
  struct Implicit : torch::nn::Module {
    Tensor hold(const Tensor& t) { return register_parameter("implicit", t); }
  };
  torch::NoGradGuard no_grad;
  for (std::size_t level = 0; level < 3; ++level) {
    const std::string name = std::to_string(level);
    auto conv = make_conv(channels[level], kAnchors * outputs_, 1, 1, true);
    // Priors: 8 objects in an image of 640 pixels, 0.6 of a class to share among the classes.
    const double cells = std::pow(640.0 / static_cast<double>(kStrides[level]), 2);
    const Tensor bias = conv->bias.view({kAnchors, outputs_});
    bias.select(1, 4) += std::log(8.0 / cells);
    bias.slice(1, 5) += std::log(0.6 / (static_cast<double>(num_classes) - 0.99));
    m_.push_back(m->register_module(name, conv));
    const auto add = ia->register_module(name, std::make_shared<Implicit>());
    ia_.push_back(add->hold(torch::randn({1, channels[level], 1, 1}) * 0.02));
    const auto scale = im->register_module(name, std::make_shared<Implicit>());
    im_.push_back(scale->hold(torch::randn({1, kAnchors * outputs_, 1, 1}) * 0.02 + 1));
  }
}

std::vector<Tensor> Detect::run(const std::vector<Tensor>& inputs) {
  std::vector<Tensor> out;
  for (std::size_t level = 0; level < 3; ++level) {
    Tensor x = inputs.at(level);
    if (!ia_.empty()) x = x + ia_[level];
    Tensor y = m_[level]->forward(x);
    if (!im_.empty()) y = y * im_[level];
    // In this order the gradient comes back with channels first, as the layers below want it.
    y = y.view({y.size(0), kAnchors, outputs_, y.size(2), y.size(3)});
    out.push_back(y.permute({0, 1, 3, 4, 2}).contiguous());
  }
  return out;
}

void Detect::fuse() {
  if (ia_.empty()) return;
  torch::NoGradGuard no_grad;
  for (std::size_t level = 0; level < 3; ++level) {
    const Tensor weight = m_[level]->weight.to(torch::kFloat64), scale = im_[level].to(torch::kFloat64).flatten();
    const Tensor bias = m_[level]->bias.to(torch::kFloat64) + (weight * ia_[level].to(torch::kFloat64)).sum({1, 2, 3});
    m_[level]->weight.copy_(weight * scale.view({-1, 1, 1, 1}));
    m_[level]->bias.copy_(bias * scale);
  }
  unregister_module("ia");
  unregister_module("im");
  ia_.clear();
  im_.clear();
}

Tensor Detect::anchor_pixels(std::size_t level) const {
  return anchors_.select(0, static_cast<std::int64_t>(level)) * static_cast<double>(kStrides[level]);
}

void Detect::set_anchors(const std::vector<double>& pixels) {
  if (pixels.size() != 18) throw std::invalid_argument("yolov7: 18 anchor numbers are needed");
  torch::NoGradGuard no_grad;
  const Tensor px = torch::tensor(pixels, torch::kFloat64).view({3, kAnchors, 2});
  const Tensor stride = torch::tensor({8.0, 16.0, 32.0}, torch::kFloat64).view({3, 1, 1});
  anchors_.copy_(px / stride);
  anchor_grid_.copy_(px.view(anchor_grid_.sizes()));
}

}  // namespace yolov7
