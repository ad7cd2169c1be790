#pragma once

#include "learn/bdc/absence_aware/confusion_cells.h"
#include "learn/bdc/absence_aware/problem.h"

namespace bdc::absence_aware {

/// Expected counts (source, true class, given class) of all images, `before` included (may be null). Parallel over
/// columns, each adding its boxes in order: the same bits for any number of threads.
[[nodiscard]] ConfusionCells count_labels(const Problem& problem, const std::vector<ImageState>& state,
                                          const ConfusionColumns& columns, const ConfusionCells* before, int threads);

}  // namespace bdc::absence_aware
