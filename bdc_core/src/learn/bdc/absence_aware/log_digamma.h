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

}  // namespace bdc::absence_aware
