#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace bdc {

/// Dirichlet prior of every row of a confusion matrix (rows: true class, columns: the class the annotator gave).
struct ConfusionPrior {
  double diagonal = 10;
  double off_diagonal = 1;
};

/// A number per (annotator, true class, given class), held only for the classes an annotator has given.
/// The update of a confusion matrix, alpha_jl = alpha0 + sum of rho_j over the annotator's boxes of class l, touches a
/// column l as a whole and leaves the columns of classes never given at the prior. So the used columns are stored
/// dense and the others not at all: memory is (used columns) x J, at most (annotations) x J, never K x J x J.
///
/// Column c of annotator k: begin[k] <= c < begin[k+1], given class label[c] (ascending), values value[c*J + j].
struct ConfusionColumns {
  std::size_t num_classes = 0;  ///< J
  std::vector<std::size_t> begin;
  std::vector<std::int32_t> label;
  std::vector<double> value;

  static constexpr std::size_t npos = static_cast<std::size_t>(-1);

  [[nodiscard]] std::size_t num_annotators() const { return begin.empty() ? 0 : begin.size() - 1; }
  /// The column of (annotator, given class); npos when the annotator never gave it.
  [[nodiscard]] std::size_t find(std::size_t annotator, std::int32_t given) const;
  [[nodiscard]] double at(std::size_t annotator, std::size_t true_class, std::int32_t given, double otherwise) const {
    const std::size_t c = find(annotator, given);
    return c == npos ? otherwise : value[c * num_classes + true_class];
  }
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

}  // namespace bdc
