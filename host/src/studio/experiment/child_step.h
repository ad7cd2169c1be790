#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "studio/experiment/cell_settings.h"
#include "studio/experiment/grid.h"

namespace bdc::host {

/// Runs `bdc-host WORDS...` for a cell as a child process. What it prints goes to logs/LOG.log below the experiment's
/// folder, its newest line to settings.live. Throws UserError when it fails, with its exit code and the last lines it
/// printed: a CellFailure unless the fault is the same for every cell (options, config, plugin).
void run_step(std::vector<std::string> words, const CellSettings& settings, const std::string& log,
              const std::atomic<bool>& stop);

}  // namespace bdc::host
