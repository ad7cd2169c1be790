#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "bdc/crowd/crowd_data.h"

namespace bdc {

/// An annotator measured against the truth, for reports next to what was learnt without it. Only images that the truth
/// covers count, and true boxes that are crowds do not.
struct MeasuredAnnotator {
  std::size_t images = 0;   ///< seen, of those the truth covers
  std::size_t objects = 0;  ///< true objects of these images
  std::size_t boxes = 0;    ///< drawn in these images
  std::size_t found = 0;    ///< boxes tied to an object
  std::size_t right_class = 0;
  /// Mean and standard deviation of the edge errors (drawn - true) of the tied boxes: x1, y1, x2, y2 in widths and
  /// heights of the true box. 0 when nothing was found.
  std::array<double, 4> bias{}, deviation{};

  [[nodiscard]] double recall() const { return share(found, objects); }
  [[nodiscard]] double spurious_per_image() const { return share(boxes - found, images); }
  [[nodiscard]] double accuracy() const { return share(right_class, found); }
  /// Root of the mean variance of the four edges.
  [[nodiscard]] double box_noise() const;

 private:
  static double share(std::size_t part, std::size_t of) {
    return of == 0 ? 0 : static_cast<double>(part) / static_cast<double>(of);
  }
};

/// One per annotator. Boxes of one annotator and image are tied to objects of any class one to one, largest IoU first,
/// if the IoU is at least match_iou. Throws DataError when the data have no truth.
[[nodiscard]] std::vector<MeasuredAnnotator> measure_annotators(const CrowdData& crowd, double match_iou = 0.3);

}  // namespace bdc
