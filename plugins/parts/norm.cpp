#include "parts/norm.h"

#include <torch/utils.h>

#include <numeric>
#include <stdexcept>
#include <vector>

namespace parts {
namespace {

/// With the padding that NormedConv gives its convolutions: half a kernel.
Tensor convolve(const torch::nn::Conv2dImpl& conv, const Tensor& x, const Tensor& weight, const Tensor& bias) {
  const auto& o = conv.options;
  const std::vector<std::int64_t> padding{o.kernel_size()->at(0) / 2, o.kernel_size()->at(1) / 2};
  return torch::conv2d(x, weight, bias, o.stride(), padding, o.dilation(), o.groups());
}

/// y = (x - mean) * weight / sqrt(var + eps) + bias, all constants.
class FrozenNorm : public Norm {
 public:
  FrozenNorm(std::int64_t channels, double eps) : eps_(eps) {
    weight_ = register_buffer("weight", torch::ones({channels}));
    bias_ = register_buffer("bias", torch::zeros({channels}));
    mean_ = register_buffer("running_mean", torch::zeros({channels}));
    variance_ = register_buffer("running_var", torch::ones({channels}));
  }
  /// The scale goes into the convolution's weights or onto its output, whichever are fewer numbers: weights in the fine
  /// stages, maps in the coarse ones of small images.
  Tensor after(torch::nn::Conv2dImpl& conv, const Tensor& x) override {
    const Tensor scale = this->scale(), shift = bias_ - mean_ * scale;
    const std::int64_t stride = conv.options.stride()->at(0), channels = conv.weight.size(0);
    const auto cells = [&](std::int64_t edge) { return (edge + stride - 1) / stride; };
    const std::int64_t map = x.size(0) * channels * cells(x.size(2)) * cells(x.size(3));
    if (map >= conv.weight.numel()) return convolve(conv, x, conv.weight * scale.view({-1, 1, 1, 1}), shift);
    return convolve(conv, x, conv.weight, {}).mul_(scale.view({1, -1, 1, 1})).add_(shift.view({1, -1, 1, 1}));
  }
  Tensor fold_into(torch::nn::Conv2dImpl& conv) override {
    torch::NoGradGuard no_grad;
    const Tensor scale = this->scale();
    conv.weight.mul_(scale.view({-1, 1, 1, 1}));
    return bias_ - mean_ * scale;
  }

 private:
  [[nodiscard]] Tensor scale() const { return weight_ * (variance_ + eps_).rsqrt(); }
  double eps_;
  Tensor weight_, bias_, mean_, variance_;
};

class BatchNorm : public Norm {
 public:
  BatchNorm(std::int64_t channels, double eps) : eps_(eps) {
    weight_ = register_parameter("weight", torch::ones({channels}));
    bias_ = register_parameter("bias", torch::zeros({channels}));
    mean_ = register_buffer("running_mean", torch::zeros({channels}));
    variance_ = register_buffer("running_var", torch::ones({channels}));
    batches_ = register_buffer("num_batches_tracked", torch::zeros({}, torch::kInt64));
  }
  Tensor after(torch::nn::Conv2dImpl& conv, const Tensor& x) override {
    if (is_training()) batches_.add_(1);
    return torch::batch_norm(conv.forward(x), weight_, bias_, mean_, variance_, is_training(), 0.1, eps_, false);
  }
  Tensor fold_into(torch::nn::Conv2dImpl& conv) override {
    torch::NoGradGuard no_grad;
    const Tensor scale = weight_ * (variance_ + eps_).rsqrt();
    conv.weight.mul_(scale.view({-1, 1, 1, 1}));
    return (bias_ - mean_ * scale).detach();
  }

 private:
  double eps_;
  Tensor weight_, bias_, mean_, variance_, batches_;
};

class GroupNorm : public Norm {
 public:
  GroupNorm(std::int64_t channels, double eps) : groups_(std::gcd(channels, std::int64_t{32})), eps_(eps) {
    weight_ = register_parameter("weight", torch::ones({channels}));
    bias_ = register_parameter("bias", torch::zeros({channels}));
  }
  Tensor after(torch::nn::Conv2dImpl& conv, const Tensor& x) override {
    return torch::group_norm(conv.forward(x), groups_, weight_, bias_, eps_);
  }
  Tensor fold_into(torch::nn::Conv2dImpl&) override { return {}; }

 private:
  std::int64_t groups_;
  double eps_;
  Tensor weight_, bias_;
};

}  // namespace

NormKind norm_kind(const std::string& name) {
  if (name == "frozen") return NormKind::frozen;
  if (name == "batch") return NormKind::batch;
  if (name == "group") return NormKind::group;
  throw std::invalid_argument("option 'norm': expected frozen, batch or group, found '" + name + "'");
}

std::shared_ptr<Norm> make_norm(NormKind kind, std::int64_t channels, double eps) {
  switch (kind) {
    case NormKind::batch:
      return std::make_shared<BatchNorm>(channels, eps);
    case NormKind::group:
      return std::make_shared<GroupNorm>(channels, eps);
    case NormKind::frozen:
      break;
  }
  return std::make_shared<FrozenNorm>(channels, eps);
}

NormedConv::NormedConv(torch::nn::Module& parent, const std::string& conv_name, const std::string& norm_name,
                       std::int64_t in, std::int64_t out, std::int64_t kernel, std::int64_t stride, NormKind kind,
                       double eps) {
  conv_ = parent.register_module(
      conv_name, std::make_shared<torch::nn::Conv2dImpl>(
                     torch::nn::Conv2dOptions(in, out, kernel).stride(stride).padding(kernel / 2).bias(false)));
  torch::nn::init::kaiming_normal_(conv_->weight, 0, torch::kFanOut, torch::kReLU);
  norm_ = parent.register_module(norm_name, make_norm(kind, out, eps));
}

Tensor NormedConv::operator()(const Tensor& x) {
  return bias_.defined() ? convolve(*conv_, x, conv_->weight, bias_) : norm_->after(*conv_, x);
}

void NormedConv::fold() {
  if (!bias_.defined()) bias_ = norm_->fold_into(*conv_);
}

}  // namespace parts
