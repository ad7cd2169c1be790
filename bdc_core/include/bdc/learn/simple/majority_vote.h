#pragma once

#include <cstdint>

#include "bdc/base/span.h"
#include "bdc/crowd/box.h"

namespace bdc {

/// How majority voting makes one box of a group of boxes.
enum class BoxRule {
  kUnion,      ///< the smallest box around all
  kIntersect,  ///< what all have in common
  kAverage,    ///< mean of the corners, rounded half to even
  kMajority    ///< bounding box of the largest region that more than half of the annotators drew
};

enum class VoteOutcome {
  kBox,         ///< label and box are set
  kDropped,     ///< more annotators drew nothing here than gave any class, or as many
  kNoMajority,  ///< kMajority: no pixel was drawn by more than half
  kEmptyBox     ///< the box has no area (kIntersect of boxes that do not meet, an average rounded away)
};

struct VoteResult {
  VoteOutcome outcome = VoteOutcome::kDropped;
  Box box;
  std::int32_t label = -1;  ///< set unless dropped
};

/// One group of annotations (at most one per annotator) of an image in which `annotators` people drew something.
/// Class: the most frequent one, the annotators not in the group voting for "nothing"; ties go to "nothing", then to
/// the smallest class. Boxes must have whole coordinates; pixels x1 <= x < x2, y1 <= y < y2 belong to a box.
///
/// kMajority: the region is the pixels drawn by more than annotators/2 (rounded down) boxes of the group. Of its
/// 8-connected components, holes filled, the one with the largest area through pixel centres wins (2x2 windows with
/// four pixels set, plus half of those with three); among equal areas the one whose first pixel (smallest x, then
/// smallest y) comes last. The work depends on the number of boxes, not on their size in pixels.
[[nodiscard]] VoteResult reduce_group(Span<const Box> boxes, Span<const std::int32_t> labels, std::size_t annotators,
                                      BoxRule rule);

}  // namespace bdc
