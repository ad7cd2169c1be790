#include "bdc/core/special_functions.h"

#include <cmath>
#include <limits>

namespace bdc {
namespace {

// Above this argument the asymptotic series below are accurate to the last few bits.
constexpr double kLarge = 10;

}  // namespace

// psi(x) = psi(x + n) - sum 1/(x + i); for large y: psi(y) ~ ln y - 1/(2y) - sum B_2k / (2k y^2k).
double digamma(double x) {
  if (!(x > 0)) return std::numeric_limits<double>::quiet_NaN();
  // sum of 1/(x+i) as one fraction: steps needs one division however often x is raised.
  double numerator = 0, denominator = 1;
  double y = x;
  for (; y < kLarge; y += 1) {
    numerator = numerator * y + denominator;
    denominator *= y;
  }
  const double inverse = 1 / (y * y);
  const double series =
      inverse *
      (1.0 / 12 -
       inverse * (1.0 / 120 -
                  inverse * (1.0 / 252 - inverse * (1.0 / 240 - inverse * (1.0 / 132 - inverse * (691.0 / 32760))))));
  return std::log(y) - 0.5 / y - series - numerator / denominator;
}

// ln Gamma(x) = ln Gamma(x + n) - ln(x (x+1) ... (x+n-1)); Stirling's series for large arguments.
double log_gamma(double x) {
  if (!(x > 0)) return std::numeric_limits<double>::quiet_NaN();
  double product = 1;
  double y = x;
  for (; y < kLarge; y += 1) product *= y;
  const double inverse = 1 / (y * y);
  const double series =
      (1.0 / 12 -
       inverse *
           (1.0 / 360 -
            inverse * (1.0 / 1260 - inverse * (1.0 / 1680 - inverse * (1.0 / 1188 - inverse * (691.0 / 360360)))))) /
      y;
  constexpr double half_log_two_pi = 0.91893853320467274178;
  return (y - 0.5) * std::log(y) - y + half_log_two_pi + series - (product == 1 ? 0.0 : std::log(product));
}

}  // namespace bdc
