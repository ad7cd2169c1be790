#include "learn/bdc/absence_aware/label_counts.h"

#include <algorithm>

#include "bdc/base/parallel.h"

namespace bdc::absence_aware {
namespace {

constexpr std::size_t kImagesPerChunk = 256;

/// Shares of boxes, each at most 1, cut to the multiples of so small a number that the sum of `boxes` of them is exact
/// in double precision, whatever the order. It takes no more off each than rounding takes off the sum.
class ColumnGrid {
 public:
  explicit ColumnGrid(double boxes) {
    while (top_ < boxes) top_ *= 2;
  }
  [[nodiscard]] double cut(double share) const { return (share + top_) - top_; }

 private:
  double top_ = 2;  ///< a power of 2, at least `boxes`: between it and its double, numbers are 2^-52 times it apart
};

/// What the images say of their items' classes, in flat lists: a column's boxes are spread over all images.
struct ItemClasses {
  std::vector<double> real;              ///< per item: what it counts as an object
  std::vector<std::uint32_t> candidate;  ///< per item
  std::vector<std::size_t> begin;        ///< per candidate, into the next two
  std::vector<std::int32_t> true_class;  ///< of probability above 0
  std::vector<float> probability;

  ItemClasses(const Problem& problem, const std::vector<ImageState>& state, std::size_t J, int threads)
      : real(problem.items.size(), 0.0), candidate(problem.items.size(), 0) {
    // Where each image's candidates and classes go; then all images at once.
    std::vector<std::size_t> first_candidate(state.size() + 1, 0), first_class(state.size() + 1, 0);
    parallel_chunks(state.size(), kImagesPerChunk, threads, [&](std::size_t from, std::size_t to, std::size_t) {
      for (std::size_t i = from; i < to; ++i) {
        if (state[i].blank) continue;
        first_candidate[i + 1] = state[i].candidates.size();
        for (const Candidate& c : state[i].candidates) {
          for (const float p : c.class_probs) first_class[i + 1] += p > 0 ? 1 : 0;
        }
      }
    });
    for (std::size_t i = 0; i < state.size(); ++i) {
      first_candidate[i + 1] += first_candidate[i];
      first_class[i + 1] += first_class[i];
    }
    begin.resize(first_candidate.back() + 1);
    begin.back() = first_class.back();
    true_class.resize(first_class.back());
    probability.resize(first_class.back());
    parallel_chunks(state.size(), kImagesPerChunk, threads, [&](std::size_t from, std::size_t to, std::size_t) {
      for (std::size_t i = from; i < to; ++i) {
        if (!state[i].blank) add_image(problem, state[i], i, J, first_candidate[i], first_class[i]);
      }
    });
  }

  void add_image(const Problem& problem, const ImageState& image, std::size_t i, std::size_t J, std::size_t number,
                 std::size_t at) {
    for (const Candidate& c : image.candidates) {
      const ClassSet classes = image.classes_of(c, J);
      begin[number] = at;
      for (std::size_t u = 0; u < classes.size(); ++u) {
        if (!(c.class_probs[u] > 0)) continue;
        true_class[at] = static_cast<std::int32_t>(classes[u]);
        probability[at++] = c.class_probs[u];
      }
      const bool tells = tells_of_classes(c, problem.image(i));
      for (const std::int32_t n : c.members) {
        const std::size_t item = problem.item_begin[i] + static_cast<std::size_t>(n);
        real[item] = tells ? problem.items[item].weight * c.existence : 0.0;
        candidate[item] = static_cast<std::uint32_t>(number);
      }
      ++number;
    }
  }

  /// Adds an item's class probabilities, times `share`, to a column of J counts.
  void add(std::size_t item, double share, const ColumnGrid& grid, double* column) const {
    if (!(real[item] > 0)) return;
    const double weight = share * real[item];
    for (std::size_t n = begin[candidate[item]]; n < begin[candidate[item] + 1]; ++n) {
      column[true_class[n]] += grid.cut(weight * static_cast<double>(probability[n]));
    }
  }
};

/// The detector's columns: a prediction spreads over the classes of its vector.
std::vector<double> count_predictions(const Problem& problem, const ItemClasses& classes, std::size_t J) {
  std::vector<double> counts(J * J, 0.0);
  const ColumnGrid grid(problem.all_predictions);
  for (const std::uint32_t n : problem.prediction) {
    for (std::size_t l = 0; l < J; ++l) {
      const double share = problem.items[n].class_probs[l];
      if (share >= kSmallestShare) classes.add(n, share, grid, counts.data() + l * J);
    }
  }
  return counts;
}

}  // namespace

ConfusionEntries reachable_entries(const Problem& problem, const std::vector<ImageState>& state,
                                   const ConfusionColumns& columns) {
  const std::size_t J = columns.num_classes, C = columns.label.size();
  std::vector<std::uint32_t> image_of(problem.items.size());
  for (std::size_t i = 0; i < problem.images(); ++i) {
    for (std::size_t n = problem.item_begin[i]; n < problem.item_begin[i + 1]; ++n) {
      image_of[n] = static_cast<std::uint32_t>(i);
    }
  }
  const std::size_t detector = problem.all_predictions > 0 ? C - J : C;
  ConfusionEntries out;
  out.begin.reserve(C + 1);
  std::vector<std::size_t> last(J, 0);  // column + 1 that reached the class last
  for (std::size_t c = 0; c < C; ++c) {
    const auto first = static_cast<std::ptrdiff_t>(out.true_class.size());
    const auto add = [&](std::size_t j) {
      if (last[j] == c + 1) return;
      last[j] = c + 1;
      out.true_class.push_back(static_cast<std::int32_t>(j));
    };
    for (std::size_t j = 0; c >= detector && j < J; ++j) add(j);
    for (std::size_t s = problem.column_item_begin[c]; s < problem.column_item_begin[c + 1]; ++s) {
      const std::size_t item = problem.column_item[s], i = image_of[item];
      if (state[i].asleep) continue;
      const ClassSet classes = state[i].classes_of_item(item - problem.item_begin[i], J);
      for (std::size_t u = 0; u < classes.size(); ++u) add(classes[u]);
    }
    std::sort(out.true_class.begin() + first, out.true_class.end());
    out.begin.push_back(out.true_class.size());
  }
  out.true_class.shrink_to_fit();
  return out;
}

ConfusionCells count_labels(const Problem& problem, const std::vector<ImageState>& state,
                            const ConfusionColumns& columns, const ConfusionCells* before, int threads,
                            const ConfusionEntries* reachable, Ranks& ranks) {
  const std::size_t J = columns.num_classes, C = columns.label.size(), chunk_size = 1 + C / 64;
  const ItemClasses classes(problem, state, J, threads);
  const std::vector<double> predicted =
      problem.all_predictions > 0 ? count_predictions(problem, classes, J) : std::vector<double>();
  const std::size_t detector = predicted.empty() ? C : C - J;
  std::vector<ConfusionCells> part((C + chunk_size - 1) / chunk_size);
  parallel_chunks(C, chunk_size, threads, [&](std::size_t begin, std::size_t end, std::size_t chunk) {
    std::vector<double> column(J, 0.0);
    for (std::size_t c = begin; c < end; ++c) {
      if (c >= detector) {
        std::copy_n(predicted.begin() + static_cast<std::ptrdiff_t>((c - detector) * J), J, column.begin());
      }
      const ColumnGrid grid(problem.column_boxes[c]);
      for (std::size_t s = problem.column_item_begin[c]; s < problem.column_item_begin[c + 1]; ++s) {
        classes.add(problem.column_item[s], 1.0, grid, column.data());
      }
      const auto take = [&](std::size_t j) {
        part[chunk].add_cell(static_cast<std::int32_t>(j), column[j]);
        column[j] = 0;
      };
      if (reachable == nullptr) {
        for (std::size_t j = 0; j < J; ++j) take(j);
      } else {
        for (std::size_t n = reachable->begin[c]; n < reachable->begin[c + 1]; ++n) {
          take(static_cast<std::size_t>(reachable->true_class[n]));
        }
      }
      part[chunk].begin.push_back(part[chunk].count.size());
    }
  });
  ConfusionCells all;
  std::size_t cells = 0;
  for (const ConfusionCells& p : part) cells += p.count.size();
  all.true_class.reserve(cells);
  all.count.reserve(cells);
  all.begin.reserve(C + 1);
  for (ConfusionCells& p : part) {
    all.append_columns(p);
    p = {};
  }
  join_cells(reachable, J, ranks, all);
  if (before != nullptr) add_cells(*before, all);
  return all;
}

}  // namespace bdc::absence_aware
