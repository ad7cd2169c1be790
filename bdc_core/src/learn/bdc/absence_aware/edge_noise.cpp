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

void set_noise_scale(const AbsenceAwarePriors& priors, Candidate& c) {
  for (std::size_t axis = 0; axis < 2; ++axis) {
    c.scale[axis] = noise_scale(c.size[axis], priors.reference_size[axis], priors.size_power[axis]);
  }
  c.log_scales = std::log(c.scale[0] * c.scale[1]);
}

}  // namespace bdc::absence_aware
