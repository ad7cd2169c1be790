#include "synth/draws.h"

#include <cmath>
#include <stdexcept>

namespace bdc::host {
namespace {

/// ln of a gamma variate: of a shape far below 1 the variate itself may be too small for a double.
/// Marsaglia and Tsang's squeeze for shapes from 1; a smaller one is that of shape + 1 times u^(1 / shape).
double draw_log_gamma(double shape, Random& random) {
  const double boost = shape < 1 ? std::log(1 - random.uniform()) / shape : 0;
  const double d = (shape < 1 ? shape + 1 : shape) - 1.0 / 3, c = 1 / std::sqrt(9 * d);
  for (;;) {
    const double x = random.normal(), root = 1 + c * x;
    if (root <= 0) continue;
    const double v = root * root * root;
    if (std::log(1 - random.uniform()) < x * x / 2 + d - d * v + d * std::log(v)) return std::log(d * v) + boost;
  }
}

}  // namespace

double draw_gamma(double shape, Random& random) {
  return std::exp(draw_log_gamma(shape, random));
}

std::vector<double> draw_dirichlet(const std::vector<double>& parameters, Random& random) {
  std::vector<double> out(parameters.size(), 0.0), logs(parameters.size());
  double largest = -HUGE_VAL;
  for (std::size_t n = 0; n < parameters.size(); ++n) {
    if (!(parameters[n] >= 0) || !std::isfinite(parameters[n])) {
      throw std::invalid_argument("Dirichlet: parameters must be finite and not negative");
    }
    logs[n] = parameters[n] > 0 ? draw_log_gamma(parameters[n], random) : -HUGE_VAL;
    largest = std::fmax(largest, logs[n]);
  }
  if (!std::isfinite(largest)) throw std::invalid_argument("Dirichlet: expected a parameter above 0");
  double sum = 0;
  for (std::size_t n = 0; n < out.size(); ++n) sum += out[n] = std::exp(logs[n] - largest);
  for (double& share : out) share /= sum;
  return out;
}

std::size_t draw_index(const std::vector<double>& weights, Random& random) {
  double sum = 0;
  for (const double w : weights) sum += w;
  if (!(sum > 0) || !std::isfinite(sum)) throw std::invalid_argument("draw: expected weights with a sum above 0");
  const double at = random.uniform() * sum;
  double passed = 0;
  std::size_t last = 0;
  for (std::size_t n = 0; n < weights.size(); ++n) {
    if (!(weights[n] > 0)) continue;
    passed += weights[n];
    last = n;
    if (at < passed) break;
  }
  return last;
}

}  // namespace bdc::host
