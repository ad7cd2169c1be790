#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "bdc/base/span.h"
#include "bdc/base/special_functions.h"
#include "bdc/learn/bdc/confusion.h"

namespace bdc {

/// One annotator's confusion matrix: the used columns, `columns` x J, row c for given class labels[c], ascending.
struct ConfusionView {
  Span<const std::int32_t> labels;
  const double* value = nullptr;
};

/// The prior with psi and ln Gamma around its two values.
struct ConfusionPriorTables {
  explicit ConfusionPriorTables(const ConfusionPrior& p)
      : prior(p), diagonal(p.diagonal), off_diagonal(p.off_diagonal) {}
  [[nodiscard]] const GammaNear& at(std::size_t true_class, std::int32_t given) const {
    return static_cast<std::size_t>(given) == true_class ? diagonal : off_diagonal;
  }
  /// ln Gamma of a column of alpha (J values) of the given class.
  void log_gamma_of_column(const double* alpha, std::size_t J, std::int32_t given, double* out) const {
    off_diagonal.log_gamma(alpha, J, out);
    out[given] = diagonal.log_gamma(alpha[given]);
  }
  /// ln Gamma of a prior value; at the plain prior nothing is computed.
  [[nodiscard]] double log_gamma_of_prior(double a, std::size_t true_class, std::int32_t given) const {
    const GammaNear& near = at(true_class, given);
    return a == near.center() ? near.log_gamma_at_center() : near.log_gamma(a);
  }
  ConfusionPrior prior;
  GammaNear diagonal, off_diagonal;
};

/// Row sums of alpha and their psi, one per true class.
struct ConfusionRows {
  std::vector<double> sum, psi;
};

/// E[ln pi_jl] = psi(alpha_jl) - psi(sum_l alpha_jl) of one annotator's used columns. alpha: prior included; classes
/// that are not among the labels are at the prior. out (columns x J) may not be alpha.
void expected_log_confusion(const ConfusionPriorTables& tables, std::size_t J, const ConfusionView& alpha,
                            ConfusionRows& rows, double* out);

}  // namespace bdc
