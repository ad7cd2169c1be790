#pragma once

#include "parts/proposal_network.h"
#include "parts/regions.h"
#include "parts/roi_align.h"

namespace frcnn {

using parts::from_network;
using parts::ImageSize;
using parts::norm_kind;
using parts::NormKind;
using parts::ProposalNetwork;
using parts::ProposalNetworkOptions;
using parts::Scene;
using parts::to_network;
using torch::Tensor;

struct NetworkOptions : ProposalNetworkOptions {
  std::int64_t head_channels = 1024;
  parts::RoiPool pool;
};

/// What the second stage says of N regions.
struct RegionOutputs {
  Tensor logits;  ///< N x (J + 1), background first
  Tensor codes;   ///< N x 4(J + 1): a box code per class, weights 10, 10, 5, 5
};

/// Faster R-CNN with a feature pyramid. Parameters are named as torchvision's fasterrcnn_resnet50_fpn:
/// backbone.body, backbone.fpn, rpn.head, roi_heads.box_head, roi_heads.box_predictor.
class Network : public ProposalNetwork {
 public:
  Network(std::int64_t num_classes, const NetworkOptions& options);

  /// Second stage. boxes: N x 4 in the network's frame; image: N int64.
  [[nodiscard]] RegionOutputs look(const Scene& scene, const Tensor& boxes, const Tensor& image);

  // For tests: the steps of look.
  [[nodiscard]] parts::RoiPool::Pooled pool(const Scene& scene, const Tensor& boxes, const Tensor& image) const;
  /// Pooled features -> N x head_channels.
  [[nodiscard]] Tensor head(const Tensor& pooled);

 private:
  parts::RoiPool pool_;
  torch::nn::Linear fc6_{nullptr}, fc7_{nullptr}, classes_{nullptr}, boxes_{nullptr};
};

/// Pixels per cell of the levels that regions are pooled from.
[[nodiscard]] const std::vector<std::int64_t>& pooled_strides();

}  // namespace frcnn
