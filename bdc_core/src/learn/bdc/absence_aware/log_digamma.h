#pragma once

#include <array>
#include <cmath>
#include <cstddef>

#include "bdc/base/special_functions.h"

namespace bdc::absence_aware {

/// psi(e^u) from a table, cubic between its points: accurate to 1e-10 of its size for u in [-16, 10], several times
/// faster than digamma where the logarithm is known. Most cells of a confusion matrix hold no count, only a prior.
class LogDigamma {
 public:
  LogDigamma() {
    for (std::size_t i = 0; i < kPoints; ++i) {
      const double x = std::exp(kLow + static_cast<double>(i) / kPerUnit), step = x * 1e-4;
      value_[i] = digamma(x);
      // d psi / du = x psi'(x); a centred difference of fourth order.
      slope_[i] = x * (8 * (digamma(x + step) - digamma(x - step)) - (digamma(x + 2 * step) - digamma(x - 2 * step))) /
                  (12 * step) / kPerUnit;
    }
  }
  /// d psi(e^u) / du.
  [[nodiscard]] double slope(double u) const {
    const double at = (u - kLow) * kPerUnit;
    if (!(at >= 0 && at < static_cast<double>(kPoints - 1))) return 1e4 * ((*this)(u + 5e-5) - (*this)(u - 5e-5));
    const auto i = static_cast<std::size_t>(at);
    const double t = at - static_cast<double>(i), rise = value_[i + 1] - value_[i];
    return kPerUnit * (slope_[i] + t * (2 * (3 * rise - 2 * slope_[i] - slope_[i + 1]) +
                                        3 * t * (slope_[i] + slope_[i + 1] - 2 * rise)));
  }
  [[nodiscard]] double operator()(double u) const {
    const double at = (u - kLow) * kPerUnit;
    if (!(at >= 0 && at < static_cast<double>(kPoints - 1))) return digamma(std::exp(u));
    const auto i = static_cast<std::size_t>(at);
    const double t = at - static_cast<double>(i), rise = value_[i + 1] - value_[i];
    return value_[i] + t * (slope_[i] + t * ((3 * rise - 2 * slope_[i] - slope_[i + 1]) +
                                             t * (slope_[i] + slope_[i + 1] - 2 * rise)));
  }

 private:
  static constexpr double kLow = -16, kPerUnit = 128;
  static constexpr std::size_t kPoints = 26 * 128 + 1;
  std::array<double, kPoints> value_, slope_;
};

/// The one table.
[[nodiscard]] inline const LogDigamma& log_digamma() {
  static const LogDigamma table;
  return table;
}

/// A count that is so small beside its weight w that a series of first order is exact enough.
[[nodiscard]] inline bool is_slight(double w, double n) {
  return n < 1e-4 * w;
}

/// ln Gamma(w + n) - ln Gamma(w), with ln w known.
[[nodiscard]] inline double fast_rise(double w, double log_w, double n) {
  return is_slight(w, n) ? n * log_digamma()(log_w + 0.5 * n / w) : log_gamma_rise(w, n);
}

/// w (psi(w + n) - psi(w)), with ln w known.
[[nodiscard]] inline double fast_gain(double w, double log_w, double n) {
  if (is_slight(w, n)) return n * log_digamma().slope(log_w + 0.5 * n / w) * (1 - 0.5 * n / w);
  return w * (digamma(w + n) - log_digamma()(log_w));
}

}  // namespace bdc::absence_aware
