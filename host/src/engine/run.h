#pragma once

#include <atomic>
#include <filesystem>

#include "engine_api/engine.h"

namespace bdc::host {

/// Engine::train.
[[nodiscard]] RunReport run_training(const TrainRequest& request, const Catalog& catalog, Progress& progress,
                                     const std::atomic<bool>& stop);

/// Engine::plan.
[[nodiscard]] RunPlan plan_training(const RunConfig& config, const Catalog& catalog, Progress& progress);

/// Whether nothing is lost when the run in a folder begins again: it was stopped before its first checkpoint, which
/// follows the first epoch's record at once. A run with more records had checkpoints, and somebody took them away.
[[nodiscard]] bool was_never_saved(const std::filesystem::path& folder);

}  // namespace bdc::host
