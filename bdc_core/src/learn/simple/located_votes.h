#pragma once

#include <vector>

#include "bdc/learn/learner.h"
#include "bdc/learn/simple/dawid_skene.h"

namespace bdc {

/// Localisation-aware expectation maximisation: objects are places where at least half of those who looked drew a box
/// (agreement_groups.h); what their boxes are called are votes on the object's class, from which Dawid and Skene's
/// algorithm learns how often each annotator is right.
struct LocatedVotes {
  std::vector<std::vector<std::vector<std::size_t>>> groups;  ///< of each image; members are places in annotations
  DawidSkene skill;
  std::size_t incomplete = 0;  ///< images with too many combinations to try them all
};

[[nodiscard]] LocatedVotes locate_votes(const FitInput& input, double threshold);

}  // namespace bdc
