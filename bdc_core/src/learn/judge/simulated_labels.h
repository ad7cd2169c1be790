#pragma once

#include <cstdint>
#include <vector>

#include "bdc/crowd/crowd_data.h"
#include "bdc/learn/annotator_posteriors.h"

namespace bdc {

/// The same crowd, had these been the objects: everybody looks at the images they were shown and draws, misses,
/// confuses and invents as is believed of them. truth: by image, in the crowd's order (CrowdData::truth_begin).
[[nodiscard]] CrowdData simulated_labels(const CrowdData& crowd, const std::vector<TruthBox>& truth,
                                         const AnnotatorPosteriors& posteriors, std::uint64_t seed);

}  // namespace bdc
