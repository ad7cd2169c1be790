#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "experiment/run_cell.h"

namespace bdc::host {

/// Runs a verb of this program as a child process, its output to logs/<log>.log of the experiment. Throws UserError
/// (exit 1), naming the log, when it fails; not when `stop` was set meanwhile.
void run_step(std::vector<std::string> words, const CellSettings& settings, const std::string& log,
              const std::atomic<bool>& stop);

}  // namespace bdc::host
