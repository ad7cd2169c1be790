#pragma once

#include "engine_api/engine.h"

namespace bdc::host {

/// The engine: LibTorch and OpenCV behind one door. Opens its shared library, which stands beside the program, the
/// first time. Throws UserError (exit 8), with what to install, where there is none.
[[nodiscard]] Engine& open_engine();

/// The engine when it was opened before, else null.
[[nodiscard]] Engine* engine_if_open();

/// Throws as open_engine does where there is none, without opening it: before long work, and for child processes.
void require_engine();

}  // namespace bdc::host
