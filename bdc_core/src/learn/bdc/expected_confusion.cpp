#include "bdc/learn/bdc/expected_confusion.h"

#include <algorithm>
#include <cmath>

#include "bdc/base/special_functions.h"

namespace bdc {

void expected_log_confusion(const ConfusionPriorTables& tables, std::size_t J, const ConfusionView& alpha,
                            ConfusionRows& rows, double* out) {
  const ConfusionPrior& prior = tables.prior;
  const std::size_t used = alpha.labels.size();
  // Rows start with the prior of the classes never given; used columns are added whole.
  const double extra = prior.diagonal - prior.off_diagonal;
  rows.sum.assign(J, static_cast<double>(J - used) * prior.off_diagonal + extra);
  for (const std::int32_t given : alpha.labels) rows.sum[static_cast<std::size_t>(given)] -= extra;
  for (std::size_t c = 0; c < used; ++c) {
    for (std::size_t j = 0; j < J; ++j) rows.sum[j] += alpha.value[c * J + j];
  }
  rows.psi.resize(J);
  for (std::size_t j = 0; j < J; ++j) rows.psi[j] = digamma(rows.sum[j]);
  for (std::size_t c = 0; c < used; ++c) {
    const auto given = static_cast<std::size_t>(alpha.labels[c]);
    const double* column = alpha.value + c * J;
    const double diagonal = tables.diagonal.digamma(column[given]);
    tables.off_diagonal.digamma(column, J, out + c * J);
    out[c * J + given] = diagonal;
    for (std::size_t j = 0; j < J; ++j) out[c * J + j] -= rows.psi[j];
  }
}

}  // namespace bdc
