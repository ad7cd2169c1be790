#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "studio/report/report_data.h"

namespace bdc::host {

inline constexpr double kSameObject = 0.4;  ///< from this IoU on, two boxes are of one object

/// A place in an image that shows what an annotator does.
struct Example {
  std::size_t image = 0;
  Box box;                        ///< what the place is about
  std::int32_t drawn_class = -1;  ///< what the annotator called it; -1: not drawn
  std::int32_t class_found = -1;  ///< what all together make most likely; -1: nothing
  double sure = 0;                ///< of that, in [0, 1]
  double overlap = -1;            ///< IoU with the annotator's box, where the example is about that
};

/// Examples of one annotator, the clearest first, at most one of a kind in an image.
struct Examples {
  std::vector<Example> missed;    ///< objects that all together are sure of, nowhere near a box of the annotator
  std::vector<Example> loose;     ///< such objects that a box of the annotator hardly overlaps
  std::vector<Example> drawn;     ///< such objects with the annotator's box, the one that is most off first
  std::vector<Example> extra;     ///< boxes of the annotator where all together find nothing
  std::vector<Example> confused;  ///< the same object under another class
};

/// Compares annotator k with the first method of `data` (its consensus); at most `most` of each kind.
[[nodiscard]] Examples examples_of(const ReportData& data, std::size_t k, std::size_t most);

}  // namespace bdc::host
