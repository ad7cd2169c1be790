#include "learn/bdc/absence_aware/edge_noise.h"

#include <cmath>

#include "bdc/base/special_functions.h"

namespace bdc::absence_aware {

TailTerms::TailTerms(double tail_value)
    : tail(tail_value),
      constant(log_gamma((tail_value + 1) / 2) - log_gamma(tail_value / 2) +
               tail_value / 2 * std::log(tail_value / 2)) {}

double noise_scale(double size, double reference, double power) {
  return reference * std::pow(size / reference, power);
}

double edge_evidence(const TailTerms& tail, double log_precision, double d, double log_scale) {
  return 0.5 * (log_precision - kLogTwoPi) - log_scale + tail.constant -
         (tail.tail + 1) / 2 * std::log((tail.tail + d) / 2);
}

}  // namespace bdc::absence_aware
