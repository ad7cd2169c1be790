#pragma once

#include <cstddef>

#include "bdc/learn/bdc/confusion.h"
#include "bdc/learn/bdc/expected_confusion.h"

namespace bdc {

/// The evidence lower bound of the class model, term by term. With q(t) = rho and q(pi) = Dirichlet(alpha), each update
/// of rho or alpha can only raise the total while predictions and matches stay the same.
struct BoundTerms {
  double e_ln_p_c = 0;   ///< sum of rho E[ln pi] over matched annotations
  double e_ln_p_t = 0;   ///< sum of rho ln p
  double e_ln_p_pi = 0;  ///< expected log density of pi under the prior
  double e_ln_q_t = 0;   ///< sum of rho ln rho
  double e_ln_q_pi = 0;  ///< expected log density of pi under q

  [[nodiscard]] double total() const { return e_ln_p_c + e_ln_p_t + e_ln_p_pi - e_ln_q_t - e_ln_q_pi; }
  BoundTerms& operator+=(const BoundTerms& other);
};

/// e_ln_p_pi and e_ln_q_pi of one annotator. alpha0, alpha: used columns with the prior included; expected: E[ln pi]
/// under alpha, and rows, both as expected_log_confusion gives them. Classes not among the labels are at the prior.
[[nodiscard]] BoundTerms dirichlet_terms(const ConfusionPriorTables& tables, std::size_t J, const ConfusionView& alpha0,
                                         const ConfusionView& alpha, const double* expected, const ConfusionRows& rows);

/// One annotator's part of the figure the released program prints as its lower bound:
///   B(alpha) - B(alpha0) - sum (alpha - alpha0) E_old,  B(a) = sum ln Gamma(a_jl) - ln Gamma(sum_jl a_jl),
/// with E_old from before the update. Not a bound: the normaliser is taken over the whole matrix instead of per row.
[[nodiscard]] double reference_bound_term(const ConfusionPriorTables& tables, std::size_t J,
                                          const ConfusionView& alpha0, const ConfusionView& alpha,
                                          const double* expected_before);

}  // namespace bdc
