#pragma once

#include <atomic>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "experiment/grid.h"

namespace bdc::host {

/// Where cells run, and how.
struct CellSettings {
  std::filesystem::path folder;              ///< of the experiment: cells/, runs/, files/, logs/
  std::vector<std::string> program_options;  ///< handed on to `train`: --plugin-path, --registry
  bool times = false;
  int threads = 0;
};

/// The result of a cell that was finished earlier, or none.
[[nodiscard]] std::optional<Json> finished_cell(const Cell& cell, const CellSettings& settings);

/// Runs a cell, going on where an earlier run of it was interrupted, and writes down its result:
/// {"cell", "labels": {AP50, AP75, AP}, "test": {...}?, "seconds"...?}. Without a detector the method is judged by its
/// labels alone; with one, `bdc-host train` runs as a child process. Returns none when `stop` was set meanwhile.
/// Throws UserError or DataError when it cannot be run.
[[nodiscard]] std::optional<Json> run_cell(const Cell& cell, const CellSettings& settings,
                                           const std::atomic<bool>& stop);

}  // namespace bdc::host
