#pragma once

#include <cstddef>

#include "bdc/crowd/decisions.h"
#include "bdc/learn/learner.h"

/// A trusted person's decisions beside everybody's labels. Places that are decided are settled: of objects the box and
/// class are the decision's, existence, weight and score are 1; where nothing is, no target is. The labels at these
/// places are taken out of the crowd and become evidence about their givers, who drew or missed a known object or
/// invented one; with it as a prior, what is left is fitted. So everybody is judged by the decisions, and every other
/// place by what is then believed of everybody.
namespace bdc {

struct SettledFit {
  FitResult result;
  std::size_t objects = 0, nothing = 0;  ///< decisions that were applied
  std::size_t labels = 0;                ///< that stood at decided places
  bool taught = false;  ///< whether the learner could learn from them; otherwise they are settled, and that is all
};

/// fit, with decisions. The learner is asked twice: without them first, to tell which labels belong to which place.
[[nodiscard]] SettledFit fit_with_decisions(Learner& learner, const FitInput& input, const Decisions& decisions);

}  // namespace bdc
