#pragma once

#include "bdc/base/ranks.h"
#include "bdc/learn/bdc/confusion.h"

namespace bdc::absence_aware {

/// Entries of confusion columns. Those of column c: begin[c] <= n < begin[c+1], true classes ascending.
struct ConfusionEntries {
  std::vector<std::size_t> begin{0};
  std::vector<std::int32_t> true_class;
};

/// The union of all ranks' entries, in each of them.
[[nodiscard]] ConfusionEntries joined_entries(ConfusionEntries own, Ranks& ranks);

/// Adds up the cells of all ranks, each the whole of a column's. possible: where cells can be, or null for everywhere
/// among `classes`. The sums must be exact (ColumnGrid): then they are the same for any number of ranks.
void join_cells(const ConfusionEntries* possible, std::size_t classes, Ranks& ranks, ConfusionCells& own);

/// Adds the counts of another to the same columns.
void add_cells(const ConfusionCells& other, ConfusionCells& to);

[[nodiscard]] ConfusionCells cells_of(const ConfusionColumns& counts);

/// Overwrites counts.value, which must have room.
void set_counts(const ConfusionCells& cells, ConfusionColumns& counts);

}  // namespace bdc::absence_aware
