#pragma once

#include <bdc/plugin/detector.h>
#include <torch/nn.h>

#include <vector>

#include "frcnn/resnet.h"
#include "frcnn/transform.h"
#include "two_stage/anchors.h"
#include "two_stage/fpn.h"
#include "two_stage/regions.h"
#include "two_stage/roi_align.h"
#include "two_stage/rpn.h"

namespace frcnn {

struct NetworkOptions {
  ResNetOptions backbone;
  std::int64_t trainable_layers = 3;  ///< ResNet::train_last
  std::int64_t pyramid_channels = 256;
  std::int64_t head_channels = 1024;
  two_stage::AnchorOptions anchors;
  two_stage::RoiPool pool;
  TransformOptions transform;
};

/// What a forward pass leaves: everything that loss and predictions share.
struct Scene : bdc::plugin::Activations {
  std::vector<Tensor> features;  ///< pyramid, five levels, B x C x h x w; regions are pooled from the first four
  two_stage::RpnOutputs rpn;
  std::vector<ImageSize> sizes;  ///< of the images in the network's frame, without padding
  Tensor scale;                  ///< given frame -> network's frame (NetworkInput::scale)

  [[nodiscard]] std::int64_t batch() const { return static_cast<std::int64_t>(sizes.size()); }
};

/// What the second stage says of N regions.
struct RegionOutputs {
  Tensor logits;  ///< N x (J + 1), background first
  Tensor codes;   ///< N x 4(J + 1): a box code per class, weights 10, 10, 5, 5
};

/// Faster R-CNN with a feature pyramid. Parameters are named as torchvision's fasterrcnn_resnet50_fpn:
/// backbone.body, backbone.fpn, rpn.head, roi_heads.box_head, roi_heads.box_predictor.
class Network : public torch::nn::Module {
 public:
  Network(std::int64_t num_classes, const NetworkOptions& options);

  /// pixels: B x 3 x h x w, 0..1; contents: the part of each that is image.
  [[nodiscard]] std::unique_ptr<Scene> forward(const Tensor& pixels, const std::vector<ImageSize>& contents);

  /// Second stage. boxes: N x 4 in the network's frame; image: N int64.
  [[nodiscard]] RegionOutputs look(const Scene& scene, const Tensor& boxes, const Tensor& image);

  /// Folds fixed norms into convolutions; for inference alone.
  void fold() { body_->fold(); }

  // For tests: the steps of forward and look.
  [[nodiscard]] NetworkInput input(const Tensor& pixels, const std::vector<ImageSize>& contents) const;
  [[nodiscard]] std::vector<Tensor> body(const Tensor& pixels) { return body_->forward(pixels); }
  [[nodiscard]] std::vector<Tensor> pyramid(const std::vector<Tensor>& levels) { return pyramid_->forward(levels); }
  [[nodiscard]] two_stage::RpnHead::Raw rpn(const std::vector<Tensor>& features) { return rpn_->forward(features); }
  [[nodiscard]] two_stage::RoiPool::Pooled pool(const Scene& scene, const Tensor& boxes, const Tensor& image) const;
  /// Pooled features -> N x head_channels.
  [[nodiscard]] Tensor head(const Tensor& pooled);

 private:
  NetworkOptions options_;
  std::shared_ptr<ResNet> body_;
  std::shared_ptr<two_stage::FeaturePyramid> pyramid_;
  std::shared_ptr<two_stage::RpnHead> rpn_;
  torch::nn::Linear fc6_{nullptr}, fc7_{nullptr}, classes_{nullptr}, boxes_{nullptr};
};

/// Pixels per cell of the levels that regions are pooled from.
[[nodiscard]] const std::vector<std::int64_t>& pooled_strides();

}  // namespace frcnn
