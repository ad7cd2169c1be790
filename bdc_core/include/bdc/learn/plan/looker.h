#pragma once

#include <cstddef>
#include <vector>

#include "bdc/learn/annotator_posteriors.h"

namespace bdc {

/// Whoever will look next, and what is expected of them.
struct Looker {
  double recall = 0.85;
  double spurious = 0.16;   ///< boxes per image where nothing is
  double accuracy = 0.85;   ///< of the class
  double box_noise = 0.08;  ///< deviation of an edge, in box sizes
  /// Whether the numbers were learnt; otherwise they are the defaults above. recall: spurious, too.
  bool recall_learnt = false, accuracy_learnt = false, box_noise_learnt = false;

  /// The annotator's labels, for who confuses what; null: all confusions are alike.
  const ConfusionColumns* confusion = nullptr;
  std::size_t annotator = 0;
  /// Probability that an object of class j, once drawn, is called l, of `classes` classes.
  [[nodiscard]] double says(std::size_t j, std::size_t l, std::size_t classes) const;
};

/// One who draws every object, nothing else, in place, and knows its class: whose word is the last one.
[[nodiscard]] Looker trusted_person();

/// The median annotator of a crowd in each of the four numbers. Profiles that measure centre and size give the noise of
/// an edge as that of the size / sqrt 2: two edges that err independently. Where the profile does not know a number,
/// the default stays.
[[nodiscard]] Looker median_annotator(const AnnotatorPosteriors& posteriors);

/// Everybody as learnt; where the labels tell nothing of somebody, the median. The posteriors must outlive the result.
[[nodiscard]] std::vector<Looker> lookers_of(const AnnotatorPosteriors& posteriors);

}  // namespace bdc
