#pragma once

#include <cstdint>

#include "bdc/base/span.h"
#include "bdc/crowd/box.h"

namespace bdc {

/// cost = -p_n[c_m] + iou * L_iou + l1 * L1, between prediction n and annotation m. Neither factor may be negative.
struct MatchCost {
  double iou = 2;
  double l1 = 5;
};

/// The annotations and predictions of one image. Boxes are normalised corners.
struct MatchProblem {
  Span<const Box> annotations;
  Span<const std::int32_t> labels;  ///< one per annotation
  Span<const Box> predictions;
  const double* probs = nullptr;  ///< predictions x classes, row-major
  std::size_t num_classes = 0;
};

/// The published matcher: L_iou = 1 - generalised IoU, L1 over (cx, cy, w, h). Each annotation takes its cheapest
/// prediction (ties: the lowest index); a prediction may have any number. -1 when there are no predictions.
/// match: one entry per annotation, written.
void match_one_to_many(const MatchProblem& problem, const MatchCost& cost, std::int32_t* match);

/// The released program's matcher: L_iou = 1 - IoU, L1 over (x1, y1, x2, y2). Annotations choose in the given order; a
/// prediction that holds an annotation of the same annotator is not free, and an annotation with no free prediction is
/// dropped (-1). previous[m]: the annotation before m by the same annotator in this image, or -1.
/// taken_by: one entry per prediction, overwritten; its contents before the call do not matter.
void match_one_per_annotator(const MatchProblem& problem, Span<const std::int32_t> previous, const MatchCost& cost,
                             std::int32_t* taken_by, std::int32_t* match);

}  // namespace bdc
