#pragma once

#include "learn/bdc/absence_aware/confusion_cells.h"
#include "learn/bdc/absence_aware/problem.h"

namespace bdc::absence_aware {

/// The entries of the confusion columns that the class sets of the images reach: a column's boxes may be of no other
/// class. The detector's columns have all.
[[nodiscard]] ConfusionEntries reachable_entries(const Problem& problem, const std::vector<ImageState>& state,
                                                 const ConfusionColumns& columns);

/// Expected counts (source, true class, given class) of all images, `before` included (may be null). Parallel over
/// columns, each adding its boxes in order: the same bits for any number of threads.
/// reachable: where counts can be, or null for everywhere.
[[nodiscard]] ConfusionCells count_labels(const Problem& problem, const std::vector<ImageState>& state,
                                          const ConfusionColumns& columns, const ConfusionCells* before, int threads,
                                          const ConfusionEntries* reachable = nullptr);

}  // namespace bdc::absence_aware
