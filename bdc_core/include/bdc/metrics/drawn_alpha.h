#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "bdc/crowd/crowd_data.h"

namespace bdc {

/// A figure with its 90 % interval from resampled images; NaN where undefined.
struct AlphaFigure {
  double alpha = 0, low = 0, high = 0;
};

/// Krippendorff's alpha of what annotators drew: boxes and classes together, at one overlap.
struct DrawnAlpha {
  double overlap = 0;
  std::size_t units = 0;             ///< places that somebody drew and at least two looked at
  AlphaFigure all;                   ///< classes and "nothing" as values
  std::vector<AlphaFigure> classes;  ///< one class against everything else, "nothing" included
  std::vector<double> without;       ///< by annotator: alpha of the others
};

/// A unit is a place that somebody drew: boxes that overlap by more than `overlap`, at most one of each annotator
/// (group_by_best_overlap). Everybody who saw the image gives it a value: the class they drew there, or "nothing". 1:
/// all drew the same; 0: as if they drew by chance. NaN where there is nothing to disagree on. `resamples` draws of as
/// many images make the intervals. Throws std::invalid_argument unless the overlap is between 0 and 1.
[[nodiscard]] DrawnAlpha drawn_alpha(const CrowdData& crowd, double overlap, int resamples = 200,
                                     std::uint64_t seed = 1, int threads = 0);

}  // namespace bdc
