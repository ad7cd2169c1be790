#pragma once

#include <array>
#include <vector>

#include "bdc/crowd/crowd_data.h"
#include "files/json_file.h"

namespace bdc::host {

/// What one simulated annotator did, counted by one who knows which object each box was drawn for.
struct DrawnQuality {
  double images = 0, objects = 0;             ///< seen; crowd regions do not count
  double drawn = 0, right = 0, spurious = 0;  ///< boxes for objects, those of the right class, boxes for nothing
  double mean_iou = 0;                        ///< of boxes for objects with their objects
  /// Mean and deviation of (centre - true centre) / true size and of ln(size / true size), of boxes for objects that
  /// overlap them.
  std::array<double, 4> bias{}, noise{};
};

/// One per annotator. drawn_for: as simulate_crowd returns it.
[[nodiscard]] std::vector<DrawnQuality> measure_drawings(const CrowdData& labels,
                                                         const std::vector<std::int32_t>& drawn_for);

/// {"recall", "spurious_rate", "class_accuracy", "box_iou", "bias", "noise"}.
[[nodiscard]] Json to_json(const DrawnQuality& quality);

}  // namespace bdc::host
