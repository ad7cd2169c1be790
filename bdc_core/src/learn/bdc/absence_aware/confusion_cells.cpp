#include "learn/bdc/absence_aware/confusion_cells.h"

#include <algorithm>
#include <iterator>

#include "bdc/base/state_bytes.h"

namespace bdc::absence_aware {

ConfusionEntries joined_entries(ConfusionEntries own, Ranks& ranks) {
  if (ranks.is_alone()) return own;
  StateWriter state;
  state(own.begin), state(own.true_class);
  std::vector<ConfusionEntries> parts;
  for (const std::string& bytes : ranks.gather(state.take())) {
    StateReader from(bytes);
    parts.emplace_back();
    from.resized(parts.back().begin), from.resized(parts.back().true_class);
  }
  ConfusionEntries out;
  std::vector<std::int32_t> classes;
  for (std::size_t c = 0; c + 1 < own.begin.size(); ++c) {
    classes.clear();
    for (const ConfusionEntries& p : parts) {
      classes.insert(classes.end(), p.true_class.begin() + static_cast<std::ptrdiff_t>(p.begin[c]),
                     p.true_class.begin() + static_cast<std::ptrdiff_t>(p.begin[c + 1]));
    }
    std::sort(classes.begin(), classes.end());
    std::unique_copy(classes.begin(), classes.end(), std::back_inserter(out.true_class));
    out.begin.push_back(out.true_class.size());
  }
  out.true_class.shrink_to_fit();
  return out;
}

void join_cells(const ConfusionEntries* possible, std::size_t classes, Ranks& ranks, ConfusionCells& own) {
  if (ranks.is_alone()) return;
  const std::size_t columns = own.begin.size() - 1;
  const auto first = [&](std::size_t c) { return possible == nullptr ? c * classes : possible->begin[c]; };
  const auto class_at = [&](std::size_t c, std::size_t n) {
    return possible == nullptr ? static_cast<std::int32_t>(n - first(c)) : possible->true_class[n];
  };
  std::vector<double> sums(first(columns), 0.0);
  for (std::size_t c = 0; c < columns; ++c) {
    std::size_t at = first(c);
    for (std::size_t n = own.begin[c]; n < own.begin[c + 1]; ++n) {
      while (class_at(c, at) != own.true_class[n]) ++at;
      sums[at] = own.count[n];
    }
  }
  own = {};
  ranks.all_reduce_doubles(sums);
  for (std::size_t c = 0; c < columns; ++c) {
    for (std::size_t n = first(c); n < first(c + 1); ++n) own.add_cell(class_at(c, n), sums[n]);
    own.begin.push_back(own.count.size());
  }
}

void add_cells(const ConfusionCells& other, ConfusionCells& to) {
  ConfusionCells sum;
  for (std::size_t c = 0; c + 1 < to.begin.size(); ++c) {
    std::size_t a = to.begin[c], b = other.begin[c];
    const std::size_t end_a = to.begin[c + 1], end_b = other.begin[c + 1];
    while (a < end_a || b < end_b) {
      const bool from_a = a < end_a && (b == end_b || to.true_class[a] <= other.true_class[b]);
      const bool from_b = b < end_b && (a == end_a || other.true_class[b] <= to.true_class[a]);
      const std::int32_t j = from_a ? to.true_class[a] : other.true_class[b];
      double count = 0;
      if (from_a) count += to.count[a++];
      if (from_b) count += other.count[b++];
      sum.add_cell(j, count);
    }
    sum.begin.push_back(sum.count.size());
  }
  to = std::move(sum);
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
