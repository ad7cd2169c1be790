#include "learn/bdc/absence_aware/confusion_cells.h"

#include <algorithm>

namespace bdc::absence_aware {

void ConfusionCells::append_columns(const ConfusionCells& other) {
  const std::size_t before = count.size();
  true_class.insert(true_class.end(), other.true_class.begin(), other.true_class.end());
  count.insert(count.end(), other.count.begin(), other.count.end());
  for (std::size_t c = 1; c < other.begin.size(); ++c) begin.push_back(before + other.begin[c]);
}

ConfusionCells cells_of(const ConfusionColumns& counts) {
  ConfusionCells cells;
  const std::size_t J = counts.num_classes;
  for (std::size_t c = 0; c < counts.label.size(); ++c) {
    for (std::size_t j = 0; j < J; ++j) cells.add_cell(static_cast<std::int32_t>(j), counts.value[c * J + j]);
    cells.begin.push_back(cells.count.size());
  }
  return cells;
}

void set_counts(const ConfusionCells& cells, ConfusionColumns& counts) {
  const std::size_t J = counts.num_classes;
  std::fill(counts.value.begin(), counts.value.end(), 0.0);
  for (std::size_t c = 0; c < counts.label.size(); ++c) {
    for (std::size_t n = cells.begin[c]; n < cells.begin[c + 1]; ++n) {
      counts.value[c * J + static_cast<std::size_t>(cells.true_class[n])] = cells.count[n];
    }
  }
}

}  // namespace bdc::absence_aware
