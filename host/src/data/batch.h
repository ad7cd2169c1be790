#pragma once

#include <bdc/plugin/types.h>

#include <vector>

#include "shapes/dataset.h"

namespace bdc::host {

/// A batch ready for a detector: pixels, where they came from, and what is known of them.
struct Batch {
  plugin::Images images;
  plugin::Targets targets;    ///< truth as hard targets in the input frame; what training without hooks uses
  plugin::CrowdLabels crowd;  ///< original frame
};

/// Loads the images `indices` (in parallel), letterboxes each into a square of `input_size` from the top left, and maps
/// its truth into the input frame. The same for any number of threads.
[[nodiscard]] Batch make_batch(const Dataset& data, const std::vector<std::int64_t>& indices, std::int64_t input_size);

}  // namespace bdc::host
