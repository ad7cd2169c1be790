#pragma once

#include <cstddef>

/// The functions of which evidence of Dirichlet-multinomial counts is made, four at a time: the same bits on every
/// machine. Of a weight x > 0 and a count n >= 0
///   rise(x, n) = ln Gamma(x + n) - ln Gamma(x),   gain(x, n) = x (psi(x + n) - psi(x)) = x d rise / dx,
/// to 1e-13 of x + n. A null weight stands for ones.
namespace bdc::absence_aware {

/// Sum over i of rise(factor * weight[i], n[i]).
[[nodiscard]] double sum_of_rises(const double* weight, double factor, const double* n, std::size_t count);

/// out[i] = gain(x[i], n[i])
void gains(const double* x, const double* n, std::size_t count, double* out);

/// out[i] = rise(to[i], n[i]) - rise(from[i], n[i])
void rise_changes(const double* from, const double* to, const double* n, std::size_t count, double* out);

/// out[i] = psi(x[i])
void digammas(const double* x, std::size_t count, double* out);

}  // namespace bdc::absence_aware
