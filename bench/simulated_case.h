#pragma once

#include <cstdint>
#include <string>

#include "bdc/crowd/crowd_data.h"
#include "bdc/crowd/predictions.h"

namespace bdc {

/// A crowd with truth, and a detector's output on its images.
struct TableCase {
  CrowdData crowd;
  Predictions predictions;
};

/// A crowd of the simulator in sim_crowd.h. Throws std::invalid_argument for an unknown preset.
[[nodiscard]] TableCase simulated_case(const std::string& preset, int images, std::uint64_t seed);

}  // namespace bdc
