#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "bdc/base/span.h"
#include "bdc/crowd/box.h"

namespace bdc {

/// A scored box of one of several models (annotators). Boxes are normalised.
struct FusionBox {
  Box box;
  double score = 1;
  std::int32_t label = 0;
  std::int32_t model = 0;
};

/// What comes out of fusing.
struct FusedBox {
  Box box;
  double score = 0;
  std::int32_t label = 0;
};

/// How a cluster's score follows from its members. S: mean of score * weight; n: members; W: sum of their weights;
/// T: sum of all models' weights; M: number of models.
enum class ClusterScore {
  kAverage,           ///< S min(M, n) / T
  kAverageOverflow,   ///< S n / T
  kMaximum,           ///< largest score * weight / largest weight
  kBoxAndModel,       ///< S n / W * (weights of the distinct models in it) / T
  kAbsentModelAware,  ///< S n / (W + weights of the models not in it)
};

/// Weights of the models: one per model, or, with an empty list, 1 for each of `models`.
struct ModelWeights {
  std::size_t models = 0;
  Span<const double> weight;
  [[nodiscard]] double of(std::int32_t model) const {
    return weight.empty() ? 1.0 : weight[static_cast<std::size_t>(model)];
  }
  [[nodiscard]] double sum() const;
  [[nodiscard]] double largest() const;
};

/// All functions below take the boxes of one image in the order of models, swap reversed corners, clip to [0, 1] and
/// drop boxes without area. Where scores are equal, the later box comes first. Boxes of different labels never meet.

/// Weighted boxes fusion. Boxes with a score below skip_below are dropped. Best first, a box joins the cluster of its
/// label that it overlaps most if IoU > iou_threshold; the cluster's box is the mean weighted by score * weight.
/// Output: best score first.
[[nodiscard]] std::vector<FusedBox> weighted_boxes_fusion(Span<const FusionBox> boxes, const ModelWeights& weights,
                                                          double iou_threshold, double skip_below, ClusterScore rule);

/// Non-maximum weighted: a box joins the cluster whose best box it overlaps most (IoU > iou_threshold); the result is
/// the mean weighted by score * IoU with the best box and has the best box's score. Weights are divided by their
/// largest.
[[nodiscard]] std::vector<FusedBox> non_maximum_weighted(Span<const FusionBox> boxes, const ModelWeights& weights,
                                                         double iou_threshold, double skip_below);

/// Non-maximum suppression: a box is dropped if its IoU with a better one that stays is above iou_threshold. Scores
/// become score * weight / sum of weights unless weights is null. Output: labels ascending, best first.
[[nodiscard]] std::vector<FusedBox> non_maximum_suppression(Span<const FusionBox> boxes, const ModelWeights* weights,
                                                            double iou_threshold);

enum class Decay { kLinear, kGaussian };

/// Soft NMS: boxes lose score instead of being dropped: factor 1 - IoU where IoU > iou_threshold (linear), or
/// exp(-IoU^2 / sigma) (Gaussian). Boxes whose decayed score stays above `threshold` are kept with the score they came
/// with. Output: labels ascending, in the order of the decayed scores.
[[nodiscard]] std::vector<FusedBox> soft_non_maximum_suppression(Span<const FusionBox> boxes,
                                                                 const ModelWeights* weights, Decay decay,
                                                                 double iou_threshold, double sigma, double threshold);

/// EARL: weighted boxes fusion over annotators (IoU 0.4, every score 1). The weight is the fused score times the number
/// of annotators K, truncated to a whole number; rounding can lose one (n / K * K may fall below n).
struct EarlBox {
  FusedBox fused;
  double score_times_annotators = 0;
  int weight = 0;
};
/// Boxes in any unit and order; they are divided by the largest x and y among them. annotator_weights: one per
/// annotator, or empty.
[[nodiscard]] std::vector<EarlBox> earl(Span<const FusionBox> boxes, std::size_t annotators,
                                        Span<const double> annotator_weights, double iou_threshold = 0.4);

/// A weight per annotator from ranges (end, weight): annotators below the first end have the first weight, and so on;
/// those beyond the last end have weight 1.
[[nodiscard]] std::vector<double> weights_from_ranges(const std::vector<std::pair<int, double>>& ranges,
                                                      std::size_t annotators);

}  // namespace bdc
