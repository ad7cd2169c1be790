#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "bdc/base/span.h"
#include "bdc/crowd/crowd_data.h"
#include "bdc/crowd/targets.h"

namespace bdc {

/// Krippendorff's alpha for nominal values, 1 - observed / expected disagreement. values: the values of all units one
/// after the other, unit u having [begin[u], begin[u+1]); a unit with fewer than two values says nothing and is left
/// out. 1: full agreement; 0: as by chance; NaN when no unit has two values or only one class occurs (nothing to
/// disagree on).
[[nodiscard]] double krippendorff_alpha(Span<const std::int32_t> values, Span<const std::size_t> begin,
                                        std::size_t num_classes);

/// How one annotator's boxes compare with the consensus. Boxes are tied to targets one to one, largest IoU first, if
/// the IoU is at least the threshold; images without a target count as well.
struct AnnotatorAgreement {
  std::size_t annotations = 0;
  std::size_t matched = 0;       ///< tied to a target
  std::size_t same_class = 0;    ///< tied, and given the target's most probable class
  std::size_t targets_seen = 0;  ///< targets of the images the annotator was assigned to
  double mean_iou = 0;           ///< over the matched; 0 when there are none

  [[nodiscard]] double precision() const {
    return annotations == 0 ? 0 : static_cast<double>(matched) / static_cast<double>(annotations);
  }
  [[nodiscard]] double recall() const {
    return targets_seen == 0 ? 0 : static_cast<double>(matched) / static_cast<double>(targets_seen);
  }
};

struct Agreement {
  double class_alpha = 0;         ///< Krippendorff's alpha of classes over groups of boxes that show the same object
  double mean_pairwise_iou = 0;   ///< over pairs of boxes of one group; NaN when there is no pair
  std::size_t groups = 0;         ///< groups of boxes, those of one box included
  std::size_t shared_groups = 0;  ///< groups with boxes of at least two annotators
  std::vector<AnnotatorAgreement> annotators;  ///< empty without a consensus
};

/// Agreement among the annotators, and of each with the consensus (null: left out). Boxes show the same object when
/// grouped by overlap (group_by_best_overlap, normalised boxes, group_iou). The same bits for any number of threads.
[[nodiscard]] Agreement measure_agreement(const CrowdData& crowd, const Targets* consensus, double group_iou = 0.45,
                                          double match_iou = 0.5, int threads = 0);

}  // namespace bdc
