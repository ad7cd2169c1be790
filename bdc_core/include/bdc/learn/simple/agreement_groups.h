#pragma once

#include <cstdint>
#include <vector>

#include "bdc/base/span.h"
#include "bdc/crowd/box.h"

namespace bdc {

/// Boxes of one image that at least half of the people who looked drew at one place, whatever class they gave.
struct AgreementGroups {
  std::vector<std::vector<std::int32_t>> members;  ///< indices of boxes, one per annotator, in the order of annotators
  bool complete = true;                            ///< false: there were too many combinations to try them all
};

/// Area that all boxes have in common, divided by that of the smallest box around them.
[[nodiscard]] double common_share(Span<const Box> boxes);

/// How "Drawing the Same Bounding Box Twice?" (GCPR 2023) finds objects. For n = `looked`, looked - 1, ... down to half
/// of `looked`: every choice of n boxes of n different annotators whose common_share is at least `threshold` is a
/// candidate; the one with the largest share becomes a group, its boxes are used up, and so on. With n = 1 each box
/// that is left is a group. annotators: one per box, ascending.
///
/// A share never grows when a box is added, so hopeless choices are dropped early. Crowded images can still have more
/// choices than anybody waits for: after `most_steps` those found so far are taken.
[[nodiscard]] AgreementGroups agreement_groups(Span<const Box> boxes, Span<const std::int32_t> annotators,
                                               std::size_t looked, double threshold, std::size_t most_steps = 2000000);

}  // namespace bdc
