#pragma once

#include <algorithm>
#include <cmath>

namespace bdc::absence_aware {

/// Raises f by moving x > 0 within [low, high] and within a factor e of where it stands, on ln x: to the top of a
/// parabola when x is near a maximum already, else by golden section. Never lowers f: a point that is not better than x
/// is not taken. Returns f at the new x.
template <class F>
double raise(double& x, double low, double high, const F& f) {
  constexpr double kGolden = 0.6180339887498949, kNear = 0.125, kAtEnd = 0.01;
  constexpr int kSteps = 12;
  const double here = f(x), log_x = std::log(x);
  // How far a look to either side goes, and how much lower f is there. An end of the range counts as lower.
  const double down = std::min(kNear, log_x - std::log(low)), up = std::min(kNear, std::log(high) - log_x);
  const double drop_down = down < kAtEnd ? 0.0 : here - f(std::exp(log_x - down));
  const double drop_up = up < kAtEnd ? 0.0 : here - f(std::exp(log_x + up));
  const bool falls_down = down < kAtEnd || drop_down > 0, falls_up = up < kAtEnd || drop_up > 0;
  if (falls_down && falls_up) {
    if (down < kAtEnd || up < kAtEnd) return here;
    const double top =
        std::exp(log_x + 0.5 * (up * up * drop_down - down * down * drop_up) / (up * drop_down + down * drop_up));
    const double there = f(top);
    if (!(there > here)) return here;
    x = top;
    return there;
  }
  double a = std::max(std::log(low), log_x - 1), b = std::min(std::log(high), log_x + 1);
  double p = b - kGolden * (b - a), q = a + kGolden * (b - a);
  double fp = f(std::exp(p)), fq = f(std::exp(q));
  for (int i = 0; i < kSteps; ++i) {
    if (fp > fq) {
      b = q;
      q = p;
      fq = fp;
      p = b - kGolden * (b - a);
      fp = f(std::exp(p));
    } else {
      a = p;
      p = q;
      fp = fq;
      q = a + kGolden * (b - a);
      fq = f(std::exp(q));
    }
  }
  const double best = fp > fq ? p : q;
  if (!(std::max(fp, fq) > here)) return here;
  x = std::exp(best);
  return std::max(fp, fq);
}

}  // namespace bdc::absence_aware
