#pragma once

#include <array>

#include "bdc/learn/bdc/absence_aware.h"
#include "learn/bdc/absence_aware/image_state.h"

/// The error of one drawn edge: Student-t, by way of a latent Gamma weight u per edge that is integrated out.
///   x = theta + scale (bias + e),  e | u, precision ~ N(0, 1 / (u precision)),  u ~ Gamma(tail/2, tail/2).
namespace bdc::absence_aware {

/// ln(2 pi)
inline constexpr double kLogTwoPi = 1.8378770664093454836;

/// Terms of the Student-t that depend on the tail only.
struct TailTerms {
  double tail = 5;
  double constant = 0;
  explicit TailTerms(double tail_value);
};

/// reference * (size / reference)^power.
[[nodiscard]] double noise_scale(double size, double reference, double power);

/// Sets the candidate's noise scales from its size.
void set_noise_scale(const AbsenceAwarePriors& priors, Candidate& c);

/// D = E[precision (x - theta - scale bias)^2 / scale^2] under the posteriors of theta, bias and precision.
[[nodiscard]] inline double expected_square(const SourceBelief& s, std::size_t edge, double x, double mean,
                                            double variance, double scale) {
  const double error = (x - mean) / scale - s.bias[edge];
  return s.precision[edge] * (error * error + variance / (scale * scale)) + s.bias_doubt[edge];
}

/// E[u] given D: near 1 for an edge in agreement, small for an outlier.
[[nodiscard]] inline double outlier_weight(double tail, double d) {
  return (tail + 1) / (tail + d);
}

}  // namespace bdc::absence_aware
