#include "show/chart.h"

#include <cmath>

namespace bdc::host {

std::vector<double> round_ticks(double low, double high, int count) {
  const double raw = (high - low) / std::max(1, count - 1);
  const double magnitude = std::pow(10.0, std::floor(std::log10(raw)));
  const double lead = raw / magnitude;
  const double step = magnitude * (lead <= 1 ? 1 : lead <= 2 ? 2 : lead <= 5 ? 5 : 10);
  std::vector<double> out;
  for (double n = std::floor(low / step + 1e-9); n * step <= high + step * (1 - 1e-9); ++n) out.push_back(n * step);
  return out;
}

}  // namespace bdc::host
