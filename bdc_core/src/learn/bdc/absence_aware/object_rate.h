#pragma once

#include <array>

#include "learn/bdc/absence_aware/image_state.h"

/// How many objects an image has: Poisson(rho_i), with a rate of the image's own, which is one of kObjectRates rates
/// g_m with probability omega_m, which belongs to the image's worklist.
///
/// Let M = exp(sum over those who looked of E ln(1 - recall)). With rho_i and the objects nobody drew summed out, N
/// drawn objects weigh  W(N) = sum_m omega_m g_m^N exp(-g_m (1 - M)) / (1 - exp(-g_m (1 - M) - Lambda)),  Lambda the
/// expected spurious boxes of those who looked: an image is looked at only because somebody drew in it, and one of a
/// small rate hardly comes so far but by a spurious box. (M and Lambda of the divisor are the annotators' alone. Where
/// only the detector drew there is none.)  ln W is convex, so over whole numbers it lies above each of its chords:
///   ln W(N) >= ln W(n) + (N - n) (ln W(n+1) - ln W(n))  for every whole n, the *pivot*.
/// So every object weighs the same, and the bound is tight when the pivot is the largest whole number below E N.
/// ln W is convex in every E ln(1 - recall) and in Lambda as well: the updates of the sources raise its tangent, in
/// which the divisor stands for images of the same kind that nobody drew in (`Hidden`).
namespace bdc::absence_aware {

/// Expected images of an image's kind in which the same annotators drew nothing, for each in which they drew: how many,
/// and the objects in them.
struct Hidden {
  double images = 0, objects = 0;
};

class ObjectRate {
 public:
  ObjectRate(const AbsenceAwareBeliefs& beliefs, const ImageItems& image);

  /// ln of what one more object weighs, W(pivot + 1) / W(pivot).
  [[nodiscard]] double log_weight(double pivot) const { return at(pivot).log_rise; }
  /// The rest of the bound, which no candidate holds.
  [[nodiscard]] double bound(double pivot) const { return at(pivot).log_total - pivot * at(pivot).log_rise; }
  /// Probabilities of the rates given the expected number of drawn objects: that number is one of the two whole numbers
  /// around it.
  [[nodiscard]] std::array<double, kObjectRates> posterior(double drawn) const;
  /// Expected objects that nobody drew.
  [[nodiscard]] double undetected(double drawn) const;
  [[nodiscard]] Hidden hidden(double drawn) const;

 private:
  /// The rates in whole groups of four; those beyond kObjectRates weigh nothing.
  static constexpr std::size_t kRoom = (kObjectRates + 3) / 4 * 4;
  using Numbers = std::array<double, kRoom>;

  /// What does not depend on the number of objects. It follows from the first four members alone.
  struct Fixed {
    double all_miss = 0, annotators_log_miss = 0;  ///< ln of the probability that everybody, every annotator, misses
    double annotators_spurious = 0;
    bool drawn_in = false;  ///< by an annotator
    double annotators_miss = 1;
    Numbers constant{};     ///< ln of a rate's weight for no object
    Numbers hidden_odds{};  ///< odds that no annotator draws, by rate
    void fill();
  };
  /// What is known of one number of objects.
  struct Count {
    double count = -1;
    double log_total = 0, log_rise = 0;  ///< ln W(count), ln W(count + 1) - ln W(count)
    Numbers share, next;                 ///< probabilities of the rates for `count` objects, for one more
    void fill(double objects, const std::array<double, kObjectRates>& omega, const Fixed& fixed);
  };
  /// Kept from the last call: it is nearly always the same number that is asked for.
  [[nodiscard]] const Count& at(double count) const;
  const std::array<double, kObjectRates>& object_share_;  ///< of the image's worklist
  Fixed fixed_;
  double miss_;
  mutable Count last_;
};

/// For each worklist omega from how many images have each rate, and the share of blank images: the maximisers under
/// weak Dirichlet priors.
void set_object_rates(const AbsenceAwareEvidence& evidence, AbsenceAwarePriors& priors);

/// ln of those priors: a part of the bound.
[[nodiscard]] double log_object_hyperprior(const AbsenceAwarePriors& priors);

}  // namespace bdc::absence_aware
