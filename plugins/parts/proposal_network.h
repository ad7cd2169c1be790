#pragma once

#include <bdc/plugin/detector.h>
#include <torch/nn.h>

#include <memory>
#include <vector>

#include "parts/anchors.h"
#include "parts/fpn.h"
#include "parts/resnet.h"
#include "parts/rpn.h"
#include "parts/transform.h"

namespace parts {

struct ProposalNetworkOptions {
  ResNetOptions backbone;
  std::int64_t trainable_layers = 3;  ///< ResNet::train_last
  std::int64_t pyramid_channels = 256;
  AnchorOptions anchors;
  TransformOptions transform;
};

/// What a forward pass leaves: everything that loss and predictions share.
struct Scene : bdc::plugin::Activations {
  std::vector<Tensor> features;  ///< pyramid, five levels, B x C x h x w; regions are pooled from the first four
  RpnOutputs rpn;
  std::vector<ImageSize> sizes;  ///< of the images in the network's frame, without padding
  Tensor scale;                  ///< given frame -> network's frame (NetworkInput::scale)

  [[nodiscard]] std::int64_t batch() const { return static_cast<std::int64_t>(sizes.size()); }
};

/// The first stage of Faster R-CNN: ResNet, feature pyramid and region proposal head. Parameters are named as
/// torchvision's: backbone.body, backbone.fpn, rpn.head.
class ProposalNetwork : public torch::nn::Module {
 public:
  /// Throws std::invalid_argument unless there are anchors for five levels.
  explicit ProposalNetwork(const ProposalNetworkOptions& options);

  /// pixels: B x 3 x h x w, 0..1; contents: the part of each that is image.
  [[nodiscard]] std::unique_ptr<Scene> forward(const Tensor& pixels, const std::vector<ImageSize>& contents);

  /// Folds fixed norms into convolutions; for inference alone.
  void fold() { body_->fold(); }

  // For tests: the steps of forward.
  [[nodiscard]] NetworkInput input(const Tensor& pixels, const std::vector<ImageSize>& contents) const;
  [[nodiscard]] std::vector<Tensor> body(const Tensor& pixels) { return body_->forward(pixels); }
  [[nodiscard]] std::vector<Tensor> pyramid(const std::vector<Tensor>& levels) { return pyramid_->forward(levels); }
  [[nodiscard]] RpnHead::Raw rpn(const std::vector<Tensor>& features) { return rpn_->forward(features); }

 private:
  AnchorOptions anchors_;
  TransformOptions transform_;
  std::shared_ptr<ResNet> body_;
  std::shared_ptr<FeaturePyramid> pyramid_;
  std::shared_ptr<RpnHead> rpn_;
};

}  // namespace parts
