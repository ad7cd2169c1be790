#pragma once

#include "bdc/learn/bdc/confusion.h"

namespace bdc::absence_aware {

/// Entries of confusion columns. Those of column c: begin[c] <= n < begin[c+1], true classes ascending.
struct ConfusionEntries {
  std::vector<std::size_t> begin{0};
  std::vector<std::int32_t> true_class;
};

/// Counts of confusion columns, only those above 0: a column has as many as there are classes that its boxes may have
/// been, not J. Cells of column c: begin[c] <= n < begin[c+1], true classes ascending.
struct ConfusionCells {
  std::vector<std::size_t> begin{0};
  std::vector<std::int32_t> true_class;
  std::vector<double> count;

  void add_cell(std::int32_t j, double n) {
    if (!(n > 0)) return;
    true_class.push_back(j);
    count.push_back(n);
  }
  /// Appends the columns of another.
  void append_columns(const ConfusionCells& other);
};

[[nodiscard]] ConfusionCells cells_of(const ConfusionColumns& counts);

/// Overwrites counts.value, which must have room.
void set_counts(const ConfusionCells& cells, ConfusionColumns& counts);

}  // namespace bdc::absence_aware
