#pragma once

/// The layers of YOLOv7. Parameter names are those of the official checkpoints.
/// Every layer can be fused once, for inference: batch norms go into the convolution before them, parallel branches of
/// a RepConv into one convolution. A fused layer computes the same function with fewer parameters, under other names,
/// and is not meant to be trained.

#include <torch/nn.h>

#include <cstdint>
#include <vector>

#include "yolov7/layer_table.h"

namespace yolov7 {

using torch::Tensor;

/// One layer of the network's graph.
class Layer : public torch::nn::Module {
 public:
  [[nodiscard]] virtual Tensor run(const std::vector<Tensor>& inputs) = 0;
  virtual void fuse() {}
};

/// Convolution without bias, batch norm (eps 1e-3, momentum 0.03), activation. Same size for stride 1.
class Conv : public Layer {
 public:
  Conv(std::int64_t in, std::int64_t out, std::int64_t kernel, std::int64_t stride, Activation activation);
  [[nodiscard]] Tensor apply(const Tensor& x);
  [[nodiscard]] Tensor run(const std::vector<Tensor>& inputs) override { return apply(inputs.at(0)); }
  void fuse() override;

 private:
  torch::nn::Conv2d conv_{nullptr};
  torch::nn::BatchNorm2d bn_{nullptr};  ///< empty when fused
  Activation activation_;
};

/// `times` Conv layers in a row, named 0, 1, ...
class ConvChain : public Layer {
 public:
  ConvChain(std::int64_t in, std::int64_t out, std::int64_t kernel, std::int64_t times, Activation activation);
  [[nodiscard]] Tensor run(const std::vector<Tensor>& inputs) override;
  void fuse() override;

 private:
  std::vector<std::shared_ptr<Conv>> convs_;
};

/// 3 x 3 and 1 x 1 convolutions with a batch norm each, summed (with a batch norm of the input where the channels
/// allow), then SiLU.
class RepConv : public Layer {
 public:
  RepConv(std::int64_t in, std::int64_t out);
  [[nodiscard]] Tensor run(const std::vector<Tensor>& inputs) override;
  void fuse() override;

 private:
  torch::nn::Sequential dense_{nullptr}, pointwise_{nullptr};
  torch::nn::BatchNorm2d identity_{nullptr};
  torch::nn::Conv2d fused_{nullptr};
};

/// Spatial pyramid pooling (5, 9, 13) inside a cross-stage block.
class Sppcspc : public Layer {
 public:
  Sppcspc(std::int64_t in, std::int64_t out, Activation activation);
  [[nodiscard]] Tensor run(const std::vector<Tensor>& inputs) override;
  void fuse() override;

 private:
  std::vector<std::shared_ptr<Conv>> cv_;  ///< cv1 .. cv7
};

/// Joins its inputs by channel.
class Concat : public Layer {
 public:
  [[nodiscard]] Tensor run(const std::vector<Tensor>& inputs) override { return torch::cat(inputs, 1); }
};

/// Maximum over kernel x kernel; stride 1 keeps the size.
class Pool : public Layer {
 public:
  Pool(std::int64_t kernel, std::int64_t stride) : kernel_(kernel), stride_(stride) {}
  [[nodiscard]] Tensor run(const std::vector<Tensor>& inputs) override;

 private:
  std::int64_t kernel_, stride_;
};

/// Twice the size, nearest neighbour.
class Upsample : public Layer {
 public:
  [[nodiscard]] Tensor run(const std::vector<Tensor>& inputs) override;
};

/// The three heads: im * conv(x + ia), one 1 x 1 convolution per level. Keeps the anchors, which are state: `anchors`
/// (3 x 3 x 2, in cells of the level) and `anchor_grid` (pixels).
class Detect : public torch::nn::Module {
 public:
  /// channels: of the three inputs. anchors: 18 numbers, pixels.
  Detect(std::int64_t num_classes, const std::vector<std::int64_t>& channels, const std::vector<double>& anchors);

  /// Per level B x 3 x h x w x (5 + classes): x, y, w, h, objectness, classes; all before the sigmoid.
  [[nodiscard]] std::vector<Tensor> run(const std::vector<Tensor>& inputs);
  void fuse();
  /// 3 x 2 anchors of a level in pixels.
  [[nodiscard]] Tensor anchor_pixels(std::size_t level) const;
  void set_anchors(const std::vector<double>& pixels);

 private:
  Tensor anchors_, anchor_grid_;
  std::vector<torch::nn::Conv2d> m_;
  std::vector<Tensor> ia_, im_;  ///< empty when fused
  std::int64_t outputs_;         ///< 5 + classes
};

constexpr std::int64_t kStrides[3] = {8, 16, 32};
constexpr std::int64_t kAnchors = 3;  ///< per level

}  // namespace yolov7
