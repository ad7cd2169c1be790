#pragma once

#include <torch/nn.h>

#include <memory>
#include <string>

namespace parts {

using torch::Tensor;

enum class NormKind {
  frozen,  ///< batch norm with fixed statistics, weight and bias: buffers; for pretrained backbones
  batch,   ///< batch norm that learns, with running statistics
  group    ///< group norm: no statistics over images
};
/// "frozen", "batch" or "group".
[[nodiscard]] NormKind norm_kind(const std::string& name);

/// A normalisation that stands behind a convolution without bias.
class Norm : public torch::nn::Module {
 public:
  /// norm(conv(x)).
  [[nodiscard]] virtual Tensor after(torch::nn::Conv2dImpl& conv, const Tensor& x) = 0;
  /// What the norm does with fixed statistics, in the convolution's weights: returns the bias to add. Undefined: cannot
  /// be folded. Called once; afterwards `after` is not used.
  [[nodiscard]] virtual Tensor fold_into(torch::nn::Conv2dImpl& conv) = 0;
};

[[nodiscard]] std::shared_ptr<Norm> make_norm(NormKind kind, std::int64_t channels, double eps);

/// A convolution without bias and the norm behind it. Not a module: both are registered by the block they belong to,
/// because that is where torchvision has them.
class NormedConv {
 public:
  NormedConv() = default;
  /// Registers `conv_name` and `norm_name` in `parent`. Weights: He's normal initialisation by fan-out.
  NormedConv(torch::nn::Module& parent, const std::string& conv_name, const std::string& norm_name, std::int64_t in,
             std::int64_t out, std::int64_t kernel, std::int64_t stride, NormKind kind, double eps);

  [[nodiscard]] Tensor operator()(const Tensor& x);
  /// One convolution with bias from now on, where the norm allows it.
  void fold();

 private:
  std::shared_ptr<torch::nn::Conv2dImpl> conv_;
  std::shared_ptr<Norm> norm_;
  Tensor bias_;  ///< defined once folded
};

}  // namespace parts
