#include "bdc/learn/bdc/lower_bound.h"

#include <vector>

#include "bdc/base/special_functions.h"

namespace bdc {

BoundTerms& BoundTerms::operator+=(const BoundTerms& other) {
  e_ln_p_c += other.e_ln_p_c;
  e_ln_p_t += other.e_ln_p_t;
  e_ln_p_pi += other.e_ln_p_pi;
  e_ln_q_t += other.e_ln_q_t;
  e_ln_q_pi += other.e_ln_q_pi;
  return *this;
}

BoundTerms dirichlet_terms(const ConfusionPriorTables& tables, std::size_t J, const ConfusionView& alpha0,
                           const ConfusionView& alpha, const double* expected, const ConfusionRows& rows) {
  const ConfusionPrior& prior = tables.prior;
  const std::size_t used = alpha.labels.size();
  const double extra = prior.diagonal - prior.off_diagonal;

  // Classes the annotator never gave: the same in both densities. Of J*J entries, used*J are held.
  const double unused_diagonal = static_cast<double>(J - used);
  const double unused_off = static_cast<double>((J - used) * (J - 1));
  double shared = -unused_diagonal * tables.diagonal.log_gamma_at_center() -
                  unused_off * tables.off_diagonal.log_gamma_at_center() +
                  unused_diagonal * (prior.diagonal - 1) * tables.diagonal.digamma_at_center() +
                  unused_off * (prior.off_diagonal - 1) * tables.off_diagonal.digamma_at_center();
  double psi_total = 0;
  for (std::size_t j = 0; j < J; ++j) psi_total += rows.psi[j];
  shared -= psi_total * (static_cast<double>(J - used) * (prior.off_diagonal - 1) + extra);
  for (const std::int32_t given : alpha.labels) shared += rows.psi[static_cast<std::size_t>(given)] * extra;

  double p = shared, q = shared;
  bool earlier_evidence = false;
  std::vector<double> log_gammas(J);
  for (std::size_t c = 0; c < used; ++c) {
    tables.log_gamma_of_column(alpha.value + c * J, J, alpha.labels[c], log_gammas.data());
    for (std::size_t j = 0; j < J; ++j) {
      const std::size_t n = c * J + j;
      const double a0 = alpha0.value[n], a = alpha.value[n];
      earlier_evidence = earlier_evidence || a0 != tables.at(j, alpha.labels[c]).center();
      p += (a0 - 1) * expected[n] - tables.log_gamma_of_prior(a0, j, alpha.labels[c]);
      q += (a - 1) * expected[n] - log_gammas[j];
    }
  }
  // ln Gamma of the row sums.
  const double prior_row = static_cast<double>(J) * prior.off_diagonal + extra;
  const double log_gamma_prior_row = log_gamma(prior_row);
  for (std::size_t j = 0; j < J; ++j) {
    double change = 0;  // of the row's prior through evidence from an earlier project
    for (std::size_t c = 0; earlier_evidence && c < used; ++c) {
      change += alpha0.value[c * J + j] - tables.at(j, alpha.labels[c]).center();
    }
    p += change == 0 ? log_gamma_prior_row : log_gamma(prior_row + change);
    q += log_gamma(rows.sum[j]);
  }
  BoundTerms terms;
  terms.e_ln_p_pi = p;
  terms.e_ln_q_pi = q;
  return terms;
}

double reference_bound_term(const ConfusionPriorTables& tables, std::size_t J, const ConfusionView& alpha0,
                            const ConfusionView& alpha, const double* expected_before) {
  const ConfusionPrior& prior = tables.prior;
  const std::size_t used = alpha.labels.size();
  double entries = 0, moved = 0, total0 = 0, total = 0;
  std::vector<double> log_gammas(J);
  for (std::size_t c = 0; c < used; ++c) {
    tables.log_gamma_of_column(alpha.value + c * J, J, alpha.labels[c], log_gammas.data());
    for (std::size_t j = 0; j < J; ++j) {
      const std::size_t n = c * J + j;
      const double a0 = alpha0.value[n], a = alpha.value[n];
      total0 += a0;
      total += a;
      moved += (a - a0) * expected_before[n];
      entries += log_gammas[j] - tables.log_gamma_of_prior(a0, j, alpha.labels[c]);
    }
  }
  const double unused =
      static_cast<double>(J - used) * (static_cast<double>(J - 1) * prior.off_diagonal + prior.diagonal);
  return entries - log_gamma(unused + total) + log_gamma(unused + total0) - moved;
}

}  // namespace bdc
