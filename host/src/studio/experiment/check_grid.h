#pragma once

#include <atomic>

#include "studio/experiment/cell_settings.h"
#include "studio/experiment/grid.h"

namespace bdc::host {

/// Looks at everything that could stop a grid halfway before its first cell runs: files and folders that are not there
/// (UserError, exit 4), methods and their options (exit 3), detectors with their plugins, hooks and settings (the exit
/// code of `bdc-host config`). Every detector is tried with the first method, every method with the first detector.
void check_grid(const Grid& grid, const CellSettings& settings, const std::atomic<bool>& stop);

}  // namespace bdc::host
