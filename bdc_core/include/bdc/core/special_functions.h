#pragma once

namespace bdc {

/// psi(x), the derivative of ln Gamma(x), for x > 0; accurate to 1e-12 (relative, or absolute below 1). NaN otherwise.
[[nodiscard]] double digamma(double x);

/// ln Gamma(x) for x > 0; accurate to 1e-12 (relative, or absolute below 1). NaN otherwise. Unlike std::lgamma it
/// writes no global variable, so threads may call it.
[[nodiscard]] double log_gamma(double x);

}  // namespace bdc
