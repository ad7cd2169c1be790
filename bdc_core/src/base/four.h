#pragma once

#include <cstdint>
#include <cstring>

/// Four doubles at once, in the compiler's vector types: for the insides of functions marked BDC_WIDE. Arguments and
/// results go by reference, since how such types are passed depends on the registers there are.
namespace bdc {

using Four = double __attribute__((vector_size(32)));
using FourBits = std::uint64_t __attribute__((vector_size(32)));

#define BDC_FOUR_INLINE inline __attribute__((always_inline))

BDC_FOUR_INLINE void load(const double* from, Four& to) {
  std::memcpy(&to, from, sizeof(to));
}
BDC_FOUR_INLINE void store(const Four& from, double* to) {
  std::memcpy(to, &from, sizeof(from));
}

/// ln x to 1e-15 of its size, or absolute below 1; x must be positive, finite and no less than 1e-300.
BDC_FOUR_INLINE void log_of(const Four& x, Four& out) {
  constexpr std::uint64_t one = 0x3ff0000000000000U, half_root = 0x3fe6a09e667f3bcdU, two_52 = 0x4330000000000000U;
  FourBits bits;
  std::memcpy(&bits, &x, sizeof(bits));
  // x = 2^k m with m within the square roots of 1/2 and 2.
  const FourBits exponent = (bits + (one - half_root)) >> 52;
  const FourBits mantissa = bits - (exponent << 52) + one, shifted = exponent | two_52;
  Four m, k;
  std::memcpy(&m, &mantissa, sizeof(m));
  std::memcpy(&k, &shifted, sizeof(k));
  k -= 4503599627370496.0 + 1023.0;
  const Four t = (m - 1) / (m + 1), z = t * t;  // ln m = 2 artanh t
  Four series = z * (2.0 / 21) + 2.0 / 19;
  series = series * z + 2.0 / 17;
  series = series * z + 2.0 / 15;
  series = series * z + 2.0 / 13;
  series = series * z + 2.0 / 11;
  series = series * z + 2.0 / 9;
  series = series * z + 2.0 / 7;
  series = series * z + 2.0 / 5;
  series = series * z + 2.0 / 3;
  out = k * 0.693147180369123816490 + (2 * t + (t * z * series + k * 1.90821492927058770002e-10));
}

/// e^x to 1e-15 of its size, for x within [-700, 700].
BDC_FOUR_INLINE void exp_of(const Four& x, Four& out) {
  constexpr double round = 6755399441055744.0;  // 1.5 x 2^52: adding it rounds to a whole number
  const Four shifted = x * 1.4426950408889634074 + round;
  FourBits bits;
  std::memcpy(&bits, &shifted, sizeof(bits));
  const Four k = shifted - round;
  const Four r = (x - k * 0.693147180369123816490) - k * 1.90821492927058770002e-10;
  Four series = r * (1.0 / 6227020800) + 1.0 / 479001600;
  series = series * r + 1.0 / 39916800;
  series = series * r + 1.0 / 3628800;
  series = series * r + 1.0 / 362880;
  series = series * r + 1.0 / 40320;
  series = series * r + 1.0 / 5040;
  series = series * r + 1.0 / 720;
  series = series * r + 1.0 / 120;
  series = series * r + 1.0 / 24;
  series = series * r + 1.0 / 6;
  series = series * r + 0.5;
  const Four value = series * r * r + r + 1;
  FourBits scaled;
  std::memcpy(&scaled, &value, sizeof(scaled));
  scaled += bits << 52;
  std::memcpy(&out, &scaled, sizeof(out));
}

}  // namespace bdc
