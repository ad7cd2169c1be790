#pragma once

#include <array>
#include <limits>

#include "bdc/learn/bdc/absence_aware.h"

/// How many objects an image has: Poisson(rho_i), with a rate of the image's own, which is one of kObjectRates rates
/// g_m with probability omega_m.
///
/// Let M = exp(sum over those who looked of E ln(1 - recall)). With rho_i and the objects nobody drew summed out, N
/// drawn objects weigh  W(N) = sum_m omega_m g_m^N exp(-g_m (1 - M)).  ln W is convex, so over whole numbers it lies
/// above each of its chords:  ln W(N) >= ln W(n) + (N - n) (ln W(n+1) - ln W(n))  for every whole n, the *pivot*.  So
/// every object weighs the same, and the bound is tight when the pivot is the largest whole number below E N.
namespace bdc::absence_aware {

class ObjectRate {
 public:
  ObjectRate(const AbsenceAwarePriors& priors, double log_all_miss);

  /// Of an image that certainly has no objects: as if nobody could have missed one.
  [[nodiscard]] static ObjectRate of_empty_image(const AbsenceAwarePriors& priors) {
    return {priors, -std::numeric_limits<double>::infinity()};
  }

  /// ln of what one more object weighs, W(pivot + 1) / W(pivot).
  [[nodiscard]] double log_weight(double pivot) const { return at(pivot).log_rise; }
  /// The rest of the bound, which no candidate holds.
  [[nodiscard]] double bound(double pivot) const { return at(pivot).log_total - pivot * at(pivot).log_rise; }
  /// Probabilities of the rates given the expected number of drawn objects: that number is one of the two whole numbers
  /// around it.
  [[nodiscard]] std::array<double, kObjectRates> posterior(double drawn) const;
  /// Expected objects that nobody drew.
  [[nodiscard]] double undetected(double drawn) const;

 private:
  /// What is known of one number of objects.
  struct Count {
    double count = -1;
    double log_total = 0, log_rise = 0;            ///< ln W(count), ln W(count + 1) - ln W(count)
    std::array<double, kObjectRates> share, next;  ///< probabilities of the rates for `count` objects, for one more
  };
  /// Kept from the last call: it is nearly always the same number that is asked for.
  [[nodiscard]] const Count& at(double count) const;
  const AbsenceAwarePriors& priors_;
  double miss_, seen_;
  mutable Count last_;
};

/// The rates g_m.
[[nodiscard]] const std::array<double, kObjectRates>& object_rates();

/// omega from how many images have each rate, the maximiser under a weak Dirichlet prior.
void set_object_rates(const std::array<double, kObjectRates>& images, AbsenceAwarePriors& priors);

/// ln of that prior: a part of the bound.
[[nodiscard]] double log_object_hyperprior(const AbsenceAwarePriors& priors);

}  // namespace bdc::absence_aware
