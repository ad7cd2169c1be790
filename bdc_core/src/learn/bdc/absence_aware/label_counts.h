#pragma once

#include "learn/bdc/absence_aware/confusion_cells.h"
#include "learn/bdc/absence_aware/problem.h"

namespace bdc::absence_aware {

/// The entries of the confusion columns that the class sets of this rank's images reach: a column's boxes may be of no
/// other class. The detector's columns have all.
[[nodiscard]] ConfusionEntries reachable_entries(const Problem& problem, const std::vector<ImageState>& state,
                                                 const ConfusionColumns& columns);

/// Expected counts (source, true class, given class) of the images of all ranks, `before` included (may be null).
/// Parallel over columns: the same bits for any number of threads and ranks.
/// reachable: where counts can be, in all ranks the same, or null for everywhere.
[[nodiscard]] ConfusionCells count_labels(const Problem& problem, const std::vector<ImageState>& state,
                                          const ConfusionColumns& columns, const ConfusionCells* before, int threads,
                                          const ConfusionEntries* reachable, Ranks& ranks);

}  // namespace bdc::absence_aware
