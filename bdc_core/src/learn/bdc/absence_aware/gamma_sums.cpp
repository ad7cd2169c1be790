#include "learn/bdc/absence_aware/gamma_sums.h"

#include "base/four.h"
#include "base/wide.h"

namespace bdc::absence_aware {
namespace {

// As in special_functions.cpp: arguments are raised by six before the asymptotic series. With u = x (x + 5),
//   x (x+1) ... (x+5) = u (u+4) (u+6)   and   sum of 1/(x+i) = (2x+5) (3u^2 + 20u + 24) / (u (u+4) (u+6)).
constexpr double kRaise = 6;

/// What ln Gamma(x) and psi(x) are made of.
struct Raised {
  Four product, harmonic, inverse;  ///< x (x+1) ... (x+5), the sum of 1/(x+i), 1/(x + 6)
};

BDC_FOUR_INLINE void raise_by_six(const Four& x, Raised& out) {
  const Four u = x * (x + 5);
  out.product = u * (u + 4) * (u + 6);
  out.harmonic = (2 * x + 5) * ((3 * u + 20) * u + 24);  // times the product
  out.inverse = 1 / (x + kRaise);
}

/// ln Gamma(y) - ((y - 1/2) ln y - y + ln(2 pi) / 2), given 1/y.
BDC_FOUR_INLINE void stirling(const Four& inverse, Four& out) {
  const Four z = inverse * inverse;
  Four sum = z * (1.0 / 156) - 691.0 / 360360;
  sum = sum * z + 1.0 / 1188;
  sum = sum * z - 1.0 / 1680;
  sum = sum * z + 1.0 / 1260;
  sum = sum * z - 1.0 / 360;
  sum = sum * z + 1.0 / 12;
  out = sum * inverse;
}

/// ln y - 1/(2y) - psi(y), given 1/y.
BDC_FOUR_INLINE void digamma_rest(const Four& inverse, Four& out) {
  const Four z = inverse * inverse;
  Four sum = z * (1.0 / 12) - 691.0 / 32760;
  sum = sum * z + 1.0 / 132;
  sum = sum * z - 1.0 / 240;
  sum = sum * z + 1.0 / 252;
  sum = sum * z - 1.0 / 120;
  sum = sum * z + 1.0 / 12;
  out = sum * z;
}

BDC_FOUR_INLINE void rise_of(const Four& x, const Four& n, Four& out) {
  Raised low, high;
  raise_by_six(x, low);
  raise_by_six(x + n, high);
  const Four y0 = x + kRaise, y1 = y0 + n;
  Four log_ratio, log_high, log_products, s0, s1;
  log_of(y1 * low.inverse, log_ratio);
  log_of(y1, log_high);
  log_of(high.product / low.product, log_products);
  stirling(low.inverse, s0);
  stirling(high.inverse, s1);
  out = (y0 - 0.5) * log_ratio + n * log_high - n + (s1 - s0) - log_products;
}

BDC_FOUR_INLINE void gain_of(const Four& x, const Four& n, Four& out) {
  Raised low, high;
  raise_by_six(x, low);
  raise_by_six(x + n, high);
  Four log_ratio, d0, d1;
  log_of((x + n + kRaise) * low.inverse, log_ratio);
  digamma_rest(low.inverse, d0);
  digamma_rest(high.inverse, d1);
  out = x * (log_ratio - 0.5 * (high.inverse - low.inverse) - (d1 - d0) -
             (high.harmonic / high.product - low.harmonic / low.product));
}

BDC_FOUR_INLINE void digamma_of(const Four& x, Four& out) {
  Raised raised;
  raise_by_six(x, raised);
  Four log_y, rest;
  log_of(x + kRaise, log_y);
  digamma_rest(raised.inverse, rest);
  out = log_y - 0.5 * raised.inverse - rest - raised.harmonic / raised.product;
}

/// Loads or stores up to four numbers; what is not loaded is filled with `otherwise`.
BDC_FOUR_INLINE void load_some(const double* from, std::size_t count, double otherwise, Four& to) {
  if (count >= 4) return load(from, to);
  double some[4] = {otherwise, otherwise, otherwise, otherwise};
  for (std::size_t i = 0; i < count; ++i) some[i] = from[i];
  load(some, to);
}

BDC_FOUR_INLINE void store_some(const Four& from, std::size_t count, double* to) {
  if (count >= 4) return store(from, to);
  for (std::size_t i = 0; i < count; ++i) to[i] = from[static_cast<int>(i)];
}

/// Calls body(x, n) for factor * weight and n, four at a time; the last ones are filled with n = 0, which adds nothing.
template <class Body>
BDC_FOUR_INLINE void for_fours(const double* weight, double factor, const double* n, std::size_t count,
                               const Body& body) {
  Four x = {factor, factor, factor, factor}, counts;
  std::size_t i = 0;
  for (; i + 4 <= count; i += 4) {
    if (weight != nullptr) {
      load(weight + i, x);
      x *= factor;
    }
    load(n + i, counts);
    body(x, counts);
  }
  if (i == count) return;
  if (weight != nullptr) {
    load_some(weight + i, count - i, 1.0, x);
    x *= factor;
  }
  load_some(n + i, count - i, 0.0, counts);
  body(x, counts);
}

}  // namespace

BDC_WIDE double sum_of_rises(const double* weight, double factor, const double* n, std::size_t count) {
  Four sum = {};
  for_fours(
      weight, factor, n, count, [&](const Four& x, const Four& counts) __attribute__((always_inline)) {
        Four rise;
        rise_of(x, counts, rise);
        sum += rise;
      });
  return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

BDC_WIDE void gains(const double* x, const double* n, std::size_t count, double* out) {
  for (std::size_t i = 0; i < count; i += 4) {
    const std::size_t some = count - i;
    Four weights, counts, gain;
    load_some(x + i, some, 1.0, weights);
    load_some(n + i, some, 0.0, counts);
    gain_of(weights, counts, gain);
    store_some(gain, some, out + i);
  }
}

BDC_WIDE void rise_changes(const double* from, const double* to, const double* n, std::size_t count, double* out) {
  for (std::size_t i = 0; i < count; i += 4) {
    const std::size_t some = count - i;
    Four before, after, counts, low, high;
    load_some(from + i, some, 1.0, before);
    load_some(to + i, some, 1.0, after);
    load_some(n + i, some, 0.0, counts);
    rise_of(before, counts, low);
    rise_of(after, counts, high);
    store_some(high - low, some, out + i);
  }
}

BDC_WIDE void digammas(const double* x, std::size_t count, double* out) {
  for (std::size_t i = 0; i < count; i += 4) {
    const std::size_t some = count - i;
    Four from, psi;
    load_some(x + i, some, 1.0, from);
    digamma_of(from, psi);
    store_some(psi, some, out + i);
  }
}

}  // namespace bdc::absence_aware
