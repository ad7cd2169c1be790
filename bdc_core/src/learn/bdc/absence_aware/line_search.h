#pragma once

#include <algorithm>
#include <cmath>

namespace bdc::absence_aware {

/// Raises f by moving x > 0 within [low, high] and within a factor e of where it stands: golden section on ln x. Never
/// lowers f: a point that is not better than x is not taken. Returns f at the new x.
template <class F>
double raise(double& x, double low, double high, const F& f) {
  constexpr double kGolden = 0.6180339887498949;
  constexpr int kSteps = 12;
  const double here = f(x);
  double a = std::max(std::log(low), std::log(x) - 1), b = std::min(std::log(high), std::log(x) + 1);
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
