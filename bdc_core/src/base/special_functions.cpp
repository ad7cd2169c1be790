#include "bdc/base/special_functions.h"

#include <cmath>
#include <limits>

namespace bdc {
namespace {

// Arguments are raised by six before the asymptotic series, whose error is then below 1e-13. With u = x (x + 5),
//   x (x+1) ... (x+5) = u (u+4) (u+6)   and   sum of 1/(x+i) = (2x+5) (3u^2 + 20u + 24) / (u (u+4) (u+6)).
constexpr double kRaise = 6;
constexpr double kNoNeedToRaise = 1e6;

/// ln Gamma(y) - ((y - 1/2) ln y - y + ln(2 pi) / 2) for y >= 6, given 1/y.
double stirling_series(double inverse) {
  const double z = inverse * inverse;
  return inverse *
         (1.0 / 12 -
          z * (1.0 / 360 -
               z * (1.0 / 1260 - z * (1.0 / 1680 - z * (1.0 / 1188 - z * (691.0 / 360360 -
                                                                          z * (1.0 / 156 - z * (3617.0 / 122400))))))));
}

/// ln y - 1/(2y) - psi(y) for y >= 6, given 1/y.
double digamma_series(double inverse) {
  const double z = inverse * inverse;
  return z *
         (1.0 / 12 -
          z * (1.0 / 120 -
               z * (1.0 / 252 -
                    z * (1.0 / 240 - z * (1.0 / 132 - z * (691.0 / 32760 - z * (1.0 / 12 - z * (3617.0 / 8160))))))));
}

}  // namespace

double digamma(double x) {
  if (!(x > 0)) return std::numeric_limits<double>::quiet_NaN();
  if (x > kNoNeedToRaise) return std::log(x) - 0.5 / x - digamma_series(1 / x);
  const double u = x * (x + 5), product = u * (u + 4) * (u + 6), y = x + kRaise;
  const double inverse = 1 / (product * y);  // one division for both 1/y and 1/product
  const double inverse_y = inverse * product;
  const double raised = (2 * x + 5) * ((3 * u + 20) * u + 24) * (inverse * y);
  return std::log(y) - 0.5 * inverse_y - digamma_series(inverse_y) - raised;
}

double log_gamma(double x) {
  if (!(x > 0)) return std::numeric_limits<double>::quiet_NaN();
  constexpr double half_log_two_pi = 0.91893853320467274178;
  if (x > kNoNeedToRaise) return (x - 0.5) * std::log(x) - x + half_log_two_pi + stirling_series(1 / x);
  const double u = x * (x + 5), y = x + kRaise;
  return (y - 0.5) * std::log(y) - y + half_log_two_pi + stirling_series(1 / y) - std::log(u * (u + 4) * (u + 6));
}

double log_gamma_rise(double x, double by) {
  if (!(x > 0) || !(by >= 0)) return std::numeric_limits<double>::quiet_NaN();
  if (by < 1e-4 * x) return by * digamma(x + by / 2);  // the integral of psi by the midpoint rule: error below 1e-13 by
  if (x + by > kNoNeedToRaise) return log_gamma(x + by) - log_gamma(x);
  const double u0 = x * (x + 5), y0 = x + kRaise, x1 = x + by, u1 = x1 * (x1 + 5), y1 = x1 + kRaise;
  const double ratio = u1 * (u1 + 4) * (u1 + 6) / (u0 * (u0 + 4) * (u0 + 6));
  return (y0 - 0.5) * std::log1p(by / y0) + by * std::log(y1) - by + stirling_series(1 / y1) - stirling_series(1 / y0) -
         std::log(ratio);
}

GammaNear::GammaNear(double center)
    : center_(center), radius_(center / 32), psi_(), log_gamma_(), log_gamma_at_center_(bdc::log_gamma(center)) {
  // psi^(n)(x) / n! = (-1)^(n+1) sum over k >= 0 of 1/(x+k)^(n+1) for n >= 1: the first terms one by one, the rest,
  // from y = x + m on, by Euler and Maclaurin: 1/(n y^n) + 1/(2 y^(n+1)) + sum B_2k / (2k)! (n+1) ... (n+2k-1) /
  // y^(n+2k).
  constexpr int m = 40;
  constexpr double bernoulli[] = {1.0 / 6, -1.0 / 30, 1.0 / 42, -1.0 / 30, 5.0 / 66};
  psi_[0] = bdc::digamma(center);
  for (int n = 1; n < kTerms; ++n) {
    const double y = center + m;
    double sum = std::pow(y, -n) / n + std::pow(y, -n - 1) / 2;
    double factor = 1;  // (n+1) ... (n+2k-1) / (2k)!
    for (int k = 1; k <= 5; ++k) {
      factor *= k == 1 ? (n + 1) / 2.0 : (n + 2.0 * k - 2) * (n + 2.0 * k - 1) / ((2.0 * k - 1) * (2.0 * k));
      sum += bernoulli[k - 1] * factor * std::pow(y, -n - 2 * k);
    }
    for (int k = m - 1; k >= 0; --k) sum += std::pow(center + k, -n - 1);
    psi_[n] = n % 2 == 1 ? sum : -sum;
  }
  for (int n = 0; n < kTerms; ++n) log_gamma_[n] = psi_[n] / (n + 1);
}

// First the series for all, which the compiler turns into vector code, then the few that are too far away.

void GammaNear::digamma(const double* x, std::size_t n, double* out) const {
  for (std::size_t i = 0; i < n; ++i) {
    const double d = x[i] - center_;
    double sum = psi_[kTerms - 1];
    for (int t = kTerms - 2; t >= 0; --t) sum = sum * d + psi_[t];
    out[i] = sum;
  }
  for (std::size_t i = 0; i < n; ++i) {
    if (!covers(x[i])) out[i] = bdc::digamma(x[i]);
  }
}

void GammaNear::log_gamma(const double* x, std::size_t n, double* out) const {
  for (std::size_t i = 0; i < n; ++i) {
    const double d = x[i] - center_;
    double sum = log_gamma_[kTerms - 1];
    for (int t = kTerms - 2; t >= 0; --t) sum = sum * d + log_gamma_[t];
    out[i] = sum * d + log_gamma_at_center_;
  }
  for (std::size_t i = 0; i < n; ++i) {
    if (!covers(x[i])) out[i] = bdc::log_gamma(x[i]);
  }
}

}  // namespace bdc
