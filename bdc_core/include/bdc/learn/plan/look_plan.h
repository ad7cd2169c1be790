#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "bdc/crowd/crowd_data.h"
#include "bdc/crowd/look_terms.h"
#include "bdc/crowd/targets.h"
#include "bdc/learn/annotator_posteriors.h"
#include "bdc/learn/plan/looker.h"

/// Which image should be shown to which annotator next: what is expected to make the labels most right for its cost
/// (label_worth.h), given what is believed of that very annotator.
///
/// A look at an image may settle its doubtful places (existence, class, box) and find objects that nobody drew. Looks
/// are chosen one by one, the best gain per cost first, each on top of those chosen before: a second look at an image
/// counts what it adds to what the first will most likely have said, so a batch does not ask the same thing twice.
/// Whoever errs like those who have looked already (AnnotatorPosteriors::alike) adds the less.
namespace bdc {

struct PlanSettings {
  double budget = 0;          ///< what the looks may cost together
  std::size_t per_image = 2;  ///< new looks at one image at most, within this batch
  int threads = 0;            ///< 0: all cores. The result has the same bits for any number.
  std::function<void(std::size_t done, std::size_t images)> progress;  ///< may be empty; may throw to stop
};

struct PlannedLook {
  std::int32_t image = 0, annotator = 0;
  double gain = 0;    ///< in objects (label_worth.h), on top of the looks before it
  double unseen = 0;  ///< how much of it comes from objects that nobody has drawn yet
  double cost = 1;
};

struct LookPlan {
  std::vector<PlannedLook> looks;  ///< in the order in which they were chosen
  double cost = 0;                 ///< of all
  double worth = 0;                ///< of the labels as they are, see label_worth
  double objects = 0;              ///< expected, those that nobody drew included
  std::vector<double> unseen;      ///< by image, see unseen_objects
};

/// targets: of the crowd. posteriors: of its annotators, in its order; null: everybody is `default_looker`. Throws
/// std::invalid_argument when these, or the terms, do not fit together.
[[nodiscard]] LookPlan plan_looks(const CrowdData& crowd, const Targets& targets, const AnnotatorPosteriors* posteriors,
                                  const LookTerms& terms, const PlanSettings& settings);

struct RankedPlace {
  std::size_t target = 0;  ///< index into Targets
  std::int32_t image = 0;
  double gain = 0;  ///< of one look of somebody at this place alone, in objects
};

/// Every target by what a look of this person would add there, largest first (equal ones in the order of the targets).
[[nodiscard]] std::vector<RankedPlace> places_worth_a_look(const Targets& targets, const Looker& looker);

}  // namespace bdc
