#pragma once

#include <vector>

#include "absence_aware/edge_noise.h"
#include "absence_aware/image_state.h"

namespace bdc::absence_aware {

/// Evaluates candidates of one image under fixed beliefs. One per thread and image.
class CandidateModel {
 public:
  CandidateModel(const AbsenceAwareBeliefs& beliefs, const ImageItems& image);

  /// Box posterior from scratch (a plain precision-weighted mean, then `steps` reweightings) and the bound.
  /// Uses and fills all of `c` but existence and class_probs; c.members must not be empty.
  void solve(Candidate& c);
  /// Raises the bound: `steps` coordinate updates of the box posterior from where it stands. Fills as solve does.
  void refine(Candidate& c, int steps);
  /// Fills c.bound and c.real for the box posterior as it stands; existence and class_probs as well when `outputs`.
  void evaluate(Candidate& c, bool outputs);

  /// ln of the expected number of objects that nobody drew.
  [[nodiscard]] double log_undetected() const { return beliefs_.log_rate + log_all_miss_; }
  [[nodiscard]] const ImageItems& image() const { return image_; }

 private:
  void set_scale(Candidate& c) const;
  void update_box(Candidate& c, bool reweight) const;

  const AbsenceAwareBeliefs& beliefs_;
  const ImageItems& image_;
  TailTerms tail_;
  double log_all_miss_ = 0;               ///< sum over the sources that saw the image of E ln(1 - recall)
  double log_place_ = 0;                  ///< ln density of a place in the image, nominal size left out
  std::vector<const double*> log_class_;  ///< per item: J expected log-likelihoods of its class, by true class
  std::vector<double> prediction_terms_;  ///< those of the predictions
  std::vector<double> log_class_sum_, scratch_;
};

}  // namespace bdc::absence_aware
