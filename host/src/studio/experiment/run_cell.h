#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bdc/base/user_error.h"
#include "bdc/learn/learners.h"
#include "studio/experiment/cell_settings.h"
#include "studio/experiment/grid.h"

namespace bdc::host {

/// The method of a cell that trains nothing. Throws UserError (exit 3) for a name or an option it does not know.
[[nodiscard]] std::unique_ptr<Learner> labels_method(const Cell& cell);

/// The result of a cell that was finished earlier; none where there is none, or one that is damaged.
[[nodiscard]] std::optional<Json> finished_cell(const Cell& cell, const CellSettings& settings);

/// Runs a cell, going on where an earlier run of it was interrupted, and writes down its result:
/// {"cell", "labels": {AP50, AP75, AP}, "test": {...}?, "seconds"...?}. Without a detector the method is judged by its
/// labels alone; with one, `bdc-host train` runs as a child process. Returns none when `stop` was set meanwhile.
/// Throws CellFailure when it cannot be run, another UserError or DataError when no other cell can be, either.
[[nodiscard]] std::optional<Json> run_cell(const Cell& cell, const CellSettings& settings,
                                           const std::atomic<bool>& stop);

}  // namespace bdc::host
