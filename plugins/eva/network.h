#pragma once

#include <bdc/plugin/detector.h>
#include <torch/nn.h>

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "eva/pyramid.h"
#include "parts/anchors.h"
#include "parts/box_coder.h"
#include "parts/roi_align.h"
#include "parts/rpn.h"

namespace eva {

constexpr std::size_t kStages = 3;
/// IoU from which on a region belongs to a target, and the box coders, stage by stage.
constexpr std::array<double, kStages> kStageIou{0.5, 0.6, 0.7};
[[nodiscard]] parts::BoxCoder stage_coder(std::size_t stage);

struct NetworkOptions {
  VitOptions vit;
  std::int64_t classes = 1;
  std::int64_t pyramid_channels = 256;
  std::int64_t rpn_convs = 2;
  std::int64_t head_convs = 4;     ///< 3 x 3 convolutions of a stage
  std::int64_t head_width = 1024;  ///< of its fully connected layer
};

/// What a stage of the cascade says of N regions.
struct StageScores {
  Tensor logits;  ///< N x (classes + 1), background last
  Tensor deltas;  ///< N x 4, the same box for every class
};

/// One stage: convolutions with norms on 7 x 7 features, a fully connected layer.
class BoxHead : public torch::nn::Module {
 public:
  BoxHead(std::int64_t channels, std::int64_t convs, std::int64_t width);
  [[nodiscard]] Tensor forward(const Tensor& pooled);

 private:
  std::vector<std::shared_ptr<NormConv>> convs_;
  torch::nn::Linear fc1_{nullptr};
};

/// What a forward pass leaves: features and proposals' raw material.
struct Features : bdc::plugin::Activations {
  std::vector<Tensor> levels;  ///< B x pyramid_channels x h x w, finest first
  parts::RpnHead::Raw raw;
  parts::RpnOutputs rpn;
  std::vector<parts::ImageSize> images;  ///< the part of each input that is image
};

/// EVA-02's detector: backbone, region proposals, three-stage cascade. Parameter names are those of the official
/// checkpoints (backbone., proposal_generator., roi_heads.).
class Network : public torch::nn::Module {
 public:
  /// The patch must be a power of 2, at least 4. Throws std::invalid_argument for impossible options.
  explicit Network(const NetworkOptions& options);

  /// pixels: B x 3 x H x W, normalised, zero outside of `images`; H and W multiples of twice the patch.
  [[nodiscard]] std::unique_ptr<Features> forward(const Tensor& pixels, std::vector<parts::ImageSize> images);

  /// Stage `stage` on regions. boxes: N x 4; image: N int64. in_training: the gradient that reaches the features is
  /// divided by the number of stages, so that the cascade pulls as one head would.
  [[nodiscard]] StageScores run_stage(std::size_t stage, const Features& features, const Tensor& boxes,
                                      const Tensor& image, bool in_training);

  [[nodiscard]] const NetworkOptions& options() const { return options_; }
  [[nodiscard]] parts::AnchorOptions anchors() const;  ///< one per level, 8 strides wide, ratios 0.5, 1, 2

 private:
  [[nodiscard]] std::vector<std::int64_t> strides() const;  ///< of the five levels

  NetworkOptions options_;
  std::shared_ptr<Backbone> backbone_;
  std::shared_ptr<parts::RpnHead> rpn_;
  std::vector<std::shared_ptr<BoxHead>> box_head_;
  std::vector<torch::nn::Linear> cls_score_, bbox_pred_;
  parts::RoiPool pool_;
};

/// (255 pixels - mean) / deviation of ImageNet's channels, and 0 outside of `images`. pixels: 0..1.
[[nodiscard]] Tensor normalised(const Tensor& pixels, const std::vector<parts::ImageSize>& images);

}  // namespace eva
