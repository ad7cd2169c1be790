#pragma once

#include <cmath>

#include "bdc/learn/bdc/absence_aware.h"

/// How many objects an image has: Poisson(rho_i), with a rate of the image's own, rho_i ~ Gamma(a, b).
///
/// Let M = exp(sum over those who looked of E ln(1 - recall)). With rho_i and the objects nobody drew summed out, N
/// drawn objects weigh  b^a Gamma(a + N) / (Gamma(a) (b + 1 - M)^(a + N)).  ln Gamma(a + N) is convex, so over whole
/// numbers it lies above each of its chords:  ln Gamma(a + N) >= ln Gamma(a + n) + (N - n) ln(a + n)  for every whole
/// n, the *pivot*. So every object weighs the same, and the bound is tight when the pivot is the largest whole number
/// below E N.
namespace bdc::absence_aware {

class ObjectRate {
 public:
  ObjectRate(const AbsenceAwarePriors& priors, double log_all_miss)
      : a_(priors.object_shape),
        b_(priors.object_rate),
        miss_(std::exp(log_all_miss)),
        seen_(b_ - std::expm1(log_all_miss)) {}

  /// ln of what one more object weighs: ln((a + pivot) / (b + 1 - M)).
  [[nodiscard]] double log_weight(double pivot) const { return std::log((a_ + pivot) / seen_); }
  /// The rest of the bound, which no candidate holds.
  [[nodiscard]] double bound(double pivot) const;
  /// E[rho_i] given the expected number of drawn objects.
  [[nodiscard]] double mean(double drawn) const { return (a_ + drawn) / seen_; }
  /// E[ln rho_i]: the number of objects is one of the two whole numbers around the expected one.
  [[nodiscard]] double mean_log(double drawn) const;
  /// Expected objects that nobody drew.
  [[nodiscard]] double undetected(double drawn) const { return miss_ * mean(drawn); }

 private:
  double a_, b_, miss_, seen_;
};

/// What an image tells of the distribution of object rates.
struct DrawnObjects {
  double expected = 0, pivot = 0, log_all_miss = 0;
};

/// Raises the bound over (a, b), the images' candidates fixed.
void fit_object_rates(const std::vector<DrawnObjects>& images, AbsenceAwarePriors& priors);

/// The same from sums, as one step of expectation maximisation.
void fit_object_rates(const AbsenceAwareEvidence& evidence, AbsenceAwarePriors& priors);

/// Weak hyperprior of (a, b): a part of the bound.
[[nodiscard]] double log_object_hyperprior(const AbsenceAwarePriors& priors);

}  // namespace bdc::absence_aware
