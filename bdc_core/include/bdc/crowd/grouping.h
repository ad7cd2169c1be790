#pragma once

#include <cstdint>
#include <vector>

#include "bdc/base/span.h"
#include "bdc/crowd/box.h"

namespace bdc {

/// Annotations of one image that show the same object. Group g has members[begin[g] .. begin[g+1]): annotation indices
/// in the order they joined; groups in the order they were founded. Every annotation is in exactly one group.
struct Groups {
  std::vector<std::int32_t> members;
  std::vector<std::int32_t> begin{0};
  [[nodiscard]] std::size_t size() const { return begin.size() - 1; }
  [[nodiscard]] Span<const std::int32_t> operator[](std::size_t g) const {
    return {members.data() + begin[g], static_cast<std::size_t>(begin[g + 1] - begin[g])};
  }
};

/// IoU with the small constant e = 1e-7 that grouping uses: inter / (w1 (h1 + e) + w2 (h2 + e) - inter + e).
[[nodiscard]] double grouping_iou(const Box& a, const Box& b);

/// The grouping of BDC without a detector. The annotations of the smallest annotator index each found a group; the
/// others join, in the given order, the group with the largest mean IoU (ties: the first) among those that do not hold
/// the same annotator and in which more than max(0, n/2 - 1) of the n members overlap by more than threshold; or found
/// one. Boxes in any unit; the original works on normalised ones.
void group_by_best_overlap(Span<const Box> boxes, Span<const std::int32_t> annotators, double threshold, Groups& out);

/// The grouping of majority voting. Each annotation, in the given order, joins the first group that does not hold the
/// same annotator and in which more than n/2 (rounded down) members overlap by more than threshold; or founds one. The
/// original works on pixels.
void group_by_first_overlap(Span<const Box> boxes, Span<const std::int32_t> annotators, double threshold, Groups& out);

}  // namespace bdc
