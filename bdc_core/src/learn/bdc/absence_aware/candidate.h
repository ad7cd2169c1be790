#pragma once

#include <vector>

#include "learn/bdc/absence_aware/edge_kernels.h"
#include "learn/bdc/absence_aware/edge_noise.h"
#include "learn/bdc/absence_aware/image_state.h"

namespace bdc::absence_aware {

/// What a change does to a candidate's two weights, Candidate::real and Candidate::spurious.
struct CandidateGain {
  double real = 0, spurious = 0;
};

/// Sum over those who looked of E ln(1 - recall), as much as each look counts.
[[nodiscard]] double log_all_miss(const AbsenceAwareBeliefs& beliefs, const ImageItems& image);

/// ln(e^a + e^b).
[[nodiscard]] double log_sum(double a, double b);

/// Evaluates candidates of one image under fixed beliefs. One per thread and image.
class CandidateModel {
 public:
  /// state: its class sets, which must outlive the model.
  CandidateModel(const AbsenceAwareBeliefs& beliefs, const ImageItems& image, const ImageState& state);

  /// Box posterior from scratch (a plain precision-weighted mean, then `steps` reweightings) and the bound.
  /// Uses and fills all of `c`, existence and class_probs when `outputs`; c.members must not be empty.
  void solve(Candidate& c, bool outputs = false);
  /// The bound of item n as a candidate of its own.
  [[nodiscard]] double bound_alone(std::int32_t n);
  /// Raises the bound: `steps` coordinate updates of the box posterior from where it stands. Fills all of `c`.
  void refine(Candidate& c, int steps);
  /// Fills c.bound and c.real for the box posterior as it stands; existence and class_probs as well when `outputs`.
  void evaluate(Candidate& c, bool outputs);

  /// Estimates for the box posterior moved once, the other members' weights kept: what item n would bring to the
  /// candidate, and what the candidate would lose without its member n. c.class_probs must be filled.
  [[nodiscard]] CandidateGain joining(const Candidate& c, std::int32_t n) const;
  [[nodiscard]] CandidateGain leaving(const Candidate& c, std::int32_t n) const;
  /// At least what joining() says, at once: as if the item lay where the object is and had its class.
  [[nodiscard]] CandidateGain most_joining(const Candidate& c, std::int32_t n) const;

  /// Sum over the sources that saw the image of E ln(1 - recall).
  [[nodiscard]] double log_all_miss() const { return log_all_miss_; }
  /// ln of the weight of one more object (ObjectRate::log_weight); must be set before anything is evaluated.
  void set_log_object(double value) { log_object_ = value; }
  [[nodiscard]] double log_object() const { return log_object_; }
  [[nodiscard]] const ImageItems& image() const { return image_; }
  /// ln of the weight of "item n is spurious".
  [[nodiscard]] double spurious_weight(std::size_t n) const { return terms_[n].spurious + terms_[n].place; }

 private:
  /// An item's part of a candidate's two weights that does not depend on the other members.
  struct ItemTerms {
    double real, spurious;  ///< without its place
    double edges;           ///< place if real: what does not depend on the object
    double place;           ///< place if spurious
  };
  void fetch_terms(std::size_t n) const;
  void add_item_terms(const Item& item);
  /// Mean of exp(weight x the class terms of item n) under the candidate's class probabilities.
  [[nodiscard]] double expected_class(const Candidate& c, std::int32_t n, double weight) const;
  void set_voices(Candidate& c) const;
  /// Sum of the members' class terms, by classes of the candidate's set, in log_class_sum_.
  void sum_log_classes(const Candidate& c, const ClassSet& classes);
  [[nodiscard]] Members members_of(const Candidate& c) const;

  const AbsenceAwareBeliefs& beliefs_;
  const ImageItems& image_;
  const ImageState& state_;
  TailTerms tail_;
  double log_all_miss_ = 0, log_object_ = 0;
  double log_classes_ = 0;                ///< ln J
  double nearest_ = 0;                    ///< the tails' part of the bound for an item whose four edges have no error
  double log_place_ = 0;                  ///< ln density of a place in the image, nominal size left out
  std::vector<ItemTerms> terms_;          ///< per item
  std::vector<const double*> log_class_;  ///< per item: expected log-likelihoods of its class, by classes of its set
  std::vector<double> rows_;              ///< those that are not simply a confusion column
  std::vector<double> log_class_sum_, scratch_;
};

}  // namespace bdc::absence_aware
