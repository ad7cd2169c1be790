#pragma once

#include <cstdint>
#include <vector>

#include "bdc/base/span.h"
#include "bdc/crowd/box.h"
#include "bdc/crowd/grouping.h"

namespace bdc {

/// Stands in for a detector where there is none: one prediction per group of annotations. Its box is the mean of the
/// group's boxes; its scores are (noise + one-hot of the most frequent class, ties to the smallest) / their maximum.
/// noise: groups x J, or null for none. box and scores (groups x J) are overwritten.
void group_consensus(const Groups& groups, Span<const Box> boxes, Span<const std::int32_t> labels, std::size_t J,
                     const double* noise, std::vector<Box>& box, std::vector<double>& scores);

}  // namespace bdc
