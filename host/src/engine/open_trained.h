#pragma once

#include <filesystem>
#include <memory>

#include "engine_api/trained_run.h"

namespace bdc::host {

/// Engine::open_trained.
[[nodiscard]] std::unique_ptr<TrainedRun> open_trained(const std::filesystem::path& run);

}  // namespace bdc::host
