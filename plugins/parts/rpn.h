#pragma once

/// Region proposal network: an objectness and a box code for every anchor, the proposals made of them, and their loss.
/// torchvision's and detectron2's differ in names and constants alone; both are options.

#include <bdc/plugin/ranks.h>
#include <torch/nn.h>

#include <string>

#include "parts/box_coder.h"
#include "parts/matcher.h"
#include "parts/sampler.h"

namespace parts {

/// Names of the parameters below the head. A dot makes a module inside a module.
struct RpnNames {
  std::vector<std::string> convs{"conv.0.0"};  ///< one 3 x 3 convolution with ReLU each; detectron2: "conv", or
                                               ///< "conv.conv0", "conv.conv1"
  std::string objectness = "cls_logits";       ///< detectron2: "objectness_logits"
  std::string deltas = "bbox_pred";            ///< detectron2: "anchor_deltas"
};

/// Shared by all levels. Weights are drawn from a Gaussian of deviation 0.01, biases are 0.
class RpnHead : public torch::nn::Module {
 public:
  RpnHead(std::int64_t channels, std::int64_t anchors_per_cell, const RpnNames& names = {});

  struct Raw {
    std::vector<Tensor> objectness;  ///< per level, B x A x h x w, before the sigmoid
    std::vector<Tensor> deltas;      ///< per level, B x 4A x h x w
  };
  [[nodiscard]] Raw forward(const std::vector<Tensor>& features);

 private:
  std::vector<torch::nn::Conv2d> convs_;
  torch::nn::Conv2d objectness_{nullptr}, deltas_{nullptr};
};

/// float32 of what half precision gave; anything else as it is. Boxes, pooling and losses need that much.
[[nodiscard]] inline Tensor at_least_float32(const Tensor& t) {
  return t.scalar_type() == torch::kHalf || t.scalar_type() == torch::kBFloat16 ? t.to(torch::kFloat32) : t;
}

/// The head's outputs, one row per anchor.
struct RpnOutputs {
  Tensor objectness;                // B x N, with gradient
  Tensor deltas;                    // B x N x 4, with gradient
  Tensor anchors;                   // N x 4
  std::vector<std::int64_t> level;  // anchors of each level; they sum to N
};
[[nodiscard]] RpnOutputs flatten(const RpnHead::Raw& raw, const Tensor& anchors);

struct ProposalOptions {
  std::int64_t before_suppression = 1000;  ///< best anchors of each level
  std::int64_t after_suppression = 1000;   ///< best proposals of an image, all levels together
  double nms_iou = 0.7;                    ///< inside a level
  double min_size = 1e-3;                  ///< shortest edge after clipping; detectron2: the smallest float above 0
  /// Proposals are ordered by probability (torchvision), whose rounding makes ties, or by logit (detectron2). Of equals
  /// the finer level comes first, inside a level the better logit; torchvision leaves that to an unstable sort.
  bool by_probability = true;
};

struct Proposals {
  Tensor boxes;   ///< n x 4, inside the image, best first
  Tensor logits;  ///< n: objectness before the sigmoid
};

/// Per image. No gradient.
[[nodiscard]] std::vector<Proposals> propose(const RpnOutputs& rpn, const std::vector<ImageSize>& images,
                                             const ProposalOptions& options, const BoxCoder& coder = {});

/// Anchors drawn for the loss. Rows count through the batch: image * N + anchor.
struct AnchorSample {
  Tensor positive, negative;  ///< int64
  Tensor target;              ///< int64, one per positive: row of the targets
};

struct RpnLossOptions {
  Matcher matcher{0.7, 0.3, true};
  BalancedSampler sampler{256, 0.5};
  double beta = 1.0 / 9;  ///< of the box loss; detectron2: 0
  /// Both parts are divided by the number of anchors drawn (torchvision), or by sampler.per_image * images
  /// (detectron2).
  bool by_number_drawn = true;
  bdc::plugin::SharedCounts counts{};  ///< makes the divisor of that number
};

/// targets: T x 4; those of image b in the rows begin[b] .. begin[b+1]-1. No gradient.
[[nodiscard]] AnchorSample sample_anchors(const RpnOutputs& rpn, const Tensor& targets,
                                          const std::vector<std::int64_t>& begin, const RpnLossOptions& options);

struct RpnLoss {
  Tensor objectness, boxes;  ///< scalars
};

/// objectness = sum_drawn( w BCE ) / n, boxes = sum_positive( w smooth_l1(code, code of its target) ) / n; w is the
/// weight of the anchor's target and 1 for negatives. weights: T, or undefined for 1 everywhere.
[[nodiscard]] RpnLoss rpn_loss(const RpnOutputs& rpn, const AnchorSample& sample, const Tensor& targets,
                               const Tensor& weights, const RpnLossOptions& options, const BoxCoder& coder = {});

}  // namespace parts
