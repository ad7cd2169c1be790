#pragma once

#include <vector>

#include "config/json_file.h"

namespace bdc::host {

/// Whether training has begun to run away in the newest of a run's records (MetricsLog): its mean loss is above the
/// first epoch's and ten times the lowest one's, and the epoch before was not so yet. False where losses are missing.
[[nodiscard]] bool has_run_away(const std::vector<Json>& records);

}  // namespace bdc::host
