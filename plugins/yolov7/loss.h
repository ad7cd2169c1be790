#pragma once

/// The loss of YOLOv7 from an assignment. Per level l, over its n pairs and its R rows:
///   box = sum_l mean_n( w (1 - CIoU) ),   cls = sum_l mean_(n,J)( w BCE(classes) ),
///   obj = sum_l balance_l mean_R( v BCE(objectness, max(0, CIoU) of the row's pair, else 0) ),  balance = 4, 1, 0.4,
/// w the target's weight; v = w in assigned rows, 1 elsewhere; a row with several pairs counts its last one for
/// objectness. With one class there is no class loss. The total is (box + obj + cls) times their gains, times the
/// batch size. Where ranks share a batch, all means are over the pairs and rows of all of them.

#include <bdc/plugin/ranks.h>
#include <bdc/plugin/types.h>

#include <vector>

#include "yolov7/assignment.h"
#include "yolov7/heads.h"

namespace yolov7 {

enum class Assigner { optimal_transport, plain };  ///< plain: every candidate

struct LossOptions {
  Assigner assigner = Assigner::optimal_transport;
  double box_gain = 0.05;
  double obj_gain = 0.7;               ///< for a 640 pixel input; scaled by (longer edge / 640)^2
  double cls_gain = 0.3;               ///< for 80 classes; scaled by classes / 80
  bdc::plugin::SharedCounts counts{};  ///< asked by soft_loss
};

/// What the pairs of one level give, before weights and means.
struct PairTerms {
  Tensor ciou;          ///< N, with gradient
  Tensor class_logits;  ///< N x J, with gradient
};
/// boxes: T x 4 xyxy, pixels.
[[nodiscard]] PairTerms pair_terms(const Level& level, const Pairs& pairs, const Tensor& boxes);

/// Mean over the level's rows of the weighted objectness loss. weights: one per pair, or undefined for 1 everywhere.
[[nodiscard]] Tensor objectness_loss(const Level& level, const Pairs& pairs, const Tensor& ciou, const Tensor& weights);

/// The three sums and the total, from the level sums. Scales, multiplies by the batch size, names the parts.
[[nodiscard]] bdc::plugin::LossTerms total_loss(const Heads& heads, const LossOptions& options, std::int64_t batch,
                                                const Tensor& box, const Tensor& obj, const Tensor& cls);
constexpr double kBalance[3] = {4.0, 1.0, 0.4};

/// Soft classes and weights. Targets of weight 0 are as if they were not there.
[[nodiscard]] bdc::plugin::LossTerms soft_loss(const Heads& heads, const bdc::plugin::Targets& targets,
                                               const LossOptions& options);

/// Integer labels, no weights.
[[nodiscard]] bdc::plugin::LossTerms hard_loss(const Heads& heads, const bdc::plugin::HardTargets& targets,
                                               const LossOptions& options);

/// Complete IoU row by row of boxes N x 4 given by centre and size; the trade-off factor is taken as a constant.
[[nodiscard]] Tensor complete_iou_rows(const Tensor& a, const Tensor& b);

}  // namespace yolov7
