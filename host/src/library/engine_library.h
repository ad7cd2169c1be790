#pragma once

#include "engine_api/engine.h"

namespace bdc::host {

/// The engine of this library; lives as long as the process.
[[nodiscard]] Engine& engine_library();

}  // namespace bdc::host
