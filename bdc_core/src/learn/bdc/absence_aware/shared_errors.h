#pragma once

#include <vector>

#include "learn/bdc/absence_aware/problem.h"

namespace bdc::absence_aware {

/// Whether those who contradict the consensus about a class contradict it in the same way. When everybody errs alone,
/// the labels of two who are wrong about one object agree as often as wrong labels for that class agree across objects.
/// Where they agree far more often within an object, it is the consensus that is wrong there: those who made it err
/// alike. Unlike the comparison of pairs (find_dependence) this needs nobody outside the community.
struct SharedErrors {
  std::size_t objects = 0;     ///< with two or more labels against the consensus
  double excess = 0;           ///< agreement of such labels beyond chance: 0 independent, 1 always the same
  double standard_errors = 0;  ///< excess in its own standard errors
  [[nodiscard]] bool suspicious() const;
};

/// Each rank brings its images.
[[nodiscard]] SharedErrors find_shared_errors(const Problem& problem, const std::vector<ImageState>& state,
                                              const AbsenceAwareBeliefs& beliefs, Ranks& ranks);

}  // namespace bdc::absence_aware
