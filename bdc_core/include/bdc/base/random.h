#pragma once

#include <cmath>
#include <cstdint>

namespace bdc {

/// A small random generator whose numbers are the same everywhere (those of std:: distributions are not).
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  /// A generator for item `item` of stream `stream`, independent of all others.
  Random(std::uint64_t seed, std::uint64_t stream, std::uint64_t item) : state_(seed) {
    state_ = next() ^ (stream * 0x9E3779B97F4A7C15u);
    state_ = next() ^ (item * 0xD1B54A32D192ED03u);
    next();
  }
  std::uint64_t next() {
    state_ += 0x9E3779B97F4A7C15u;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }
  /// In [0, 1).
  double uniform() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }
  double uniform(double low, double high) { return low + (high - low) * uniform(); }
  /// 0 .. n-1.
  std::int64_t below(std::int64_t n) { return static_cast<std::int64_t>(uniform() * static_cast<double>(n)); }
  /// Standard normal (Box and Muller).
  double normal() {
    const double radius = std::sqrt(-2 * std::log(1 - uniform()));
    return radius * std::cos(6.283185307179586 * uniform());
  }

 private:
  std::uint64_t state_;
};

}  // namespace bdc
