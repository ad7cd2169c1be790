#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "bdc/crowd/targets.h"
#include "bdc/learn/annotator_posteriors.h"

/// Which objects deserve one more look. A target is in one of J + 1 states: nothing there (probability 1 - e, e its
/// existence), or an object of class j (e p_j). Its worth is what the best single decision gets right,
///   W = max(1 - e, max_j e p_j IoU),  IoU = exp(-0.8 sum over edges of std / size), the expected overlap of its box.
/// One more annotator draws or does not draw, with some class; Bayes' rule gives the states after each outcome, and a
/// drawn box makes the edges surer. The gain is E[W after] - W: between 0 and 1, in right labels per look.
namespace bdc {

/// Whoever will look next.
struct NextAnnotator {
  double recall = 0.85;
  double spurious = 0.15;   ///< probability to draw a box where nothing is
  double accuracy = 0.85;   ///< of the class
  double box_noise = 0.08;  ///< deviation of an edge, in box sizes
  /// Whether the numbers are a crowd's; otherwise they are the defaults above. recall: spurious, too.
  bool recall_learnt = false, accuracy_learnt = false, box_noise_learnt = false;
};

/// The median annotator of a crowd in each of the four numbers. spurious = 1 - exp(-boxes per image), as if all
/// inventions fell on the place asked about: inventions often repeat. Profiles that measure centre and size give the
/// noise of an edge as that of the size / sqrt 2: two edges that err independently. Where the profile does not know a
/// number, the default stays.
[[nodiscard]] NextAnnotator median_annotator(const AnnotatorPosteriors& posteriors);

/// The gain of one more look at target n. Without existence its weight (at most 1) stands for it; without box_std the
/// box is taken as exact.
[[nodiscard]] double relabelling_gain(const Targets& targets, std::size_t n, const NextAnnotator& next);

struct RelabelItem {
  std::size_t target = 0;  ///< index into Targets
  std::int32_t image = 0;
  double gain = 0;
};

/// Every target, largest gain first (equal ones in the order of the targets).
[[nodiscard]] std::vector<RelabelItem> relabelling_order(const Targets& targets, const NextAnnotator& next);

}  // namespace bdc
