#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <stdexcept>

namespace bdc {

/// A sum of numbers that has the same bits whatever the order and whatever the grouping: fixed point, 63 bits after the
/// point, in 128-bit integers, whose addition is exact. So threads, shards and machines may each add theirs.
///
/// An addend is cut to a multiple of 2^-63 (about 1e-19) and to +-2^44 (about 1.8e13); there is room for 2^20 addends
/// of that size. Plain data: it may be saved byte by byte.
class ExactSum {
 public:
  /// Throws std::invalid_argument for NaN.
  void add(double x) {
    if (x == 0) return;
    if (!(std::abs(x) <= kMost)) x = limited(x);
    const auto whole = static_cast<std::int64_t>(x);
    const auto rest = static_cast<std::int64_t>((x - static_cast<double>(whole)) * kUnitsPerOne);
    units_ += static_cast<Units>(whole) * static_cast<Units>(kUnitsPerOne) + rest;
  }
  void merge(const ExactSum& other) { units_ += other.units_; }

  /// The double nearest to the sum.
  [[nodiscard]] double value() const { return static_cast<double>(units_) / kUnitsPerOne; }

  [[nodiscard]] bool operator==(const ExactSum& other) const { return units_ == other.units_; }

 private:
  __extension__ using Units = __int128;
  static constexpr double kUnitsPerOne = 9223372036854775808.0;  ///< 2^63
  static constexpr double kMost = 17592186044416.0;              ///< 2^44

  static double limited(double x) {
    if (std::isnan(x)) throw std::invalid_argument("a sum of evidence cannot take in NaN");
    return std::clamp(x, -kMost, kMost);
  }

  Units units_ = 0;
};

}  // namespace bdc
