#pragma once

#include <string>
#include <vector>

#include "bdc/crowd/crowd_data.h"
#include "bdc/crowd/crowd_io.h"

namespace bdc {

/// What of some labels a format cannot hold.
struct FormatLosses {
  std::string format;
  std::vector<Loss> losses;
  std::string refused;  ///< why these labels cannot be written so at all; else empty
};

/// For every format that can be written, in the order of crowd_formats(): what writing these labels would lose. Each is
/// written to a new folder below `scratch` (an existing one), which is removed again. Throws std::system_error.
[[nodiscard]] std::vector<FormatLosses> losses_by_format(const CrowdData& data, const std::string& scratch);

}  // namespace bdc
