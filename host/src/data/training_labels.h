#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bdc/crowd/crowd_data.h"

namespace bdc::host {

/// What the console should say of labels before a detector is trained on them: boxes that no target can come of, images
/// and classes without a box, each with counts. Looks at what training uses: the annotators' boxes, or the labels' own
/// when there are no annotators. input_size: edge of the detector's input, pixels.
/// Throws DataError when there is no class, or no box that can be trained on.
[[nodiscard]] std::vector<std::string> check_training_labels(const CrowdData& labels, std::int64_t input_size);

}  // namespace bdc::host
