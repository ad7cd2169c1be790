#pragma once

#include <filesystem>

#include "files/json_file.h"

namespace bdc::host {

/// The table.json of an experiment: "format": "bdc_experiment", "version": 1, rows with names and numbers. Throws
/// DataError with the file, the place, what was expected and what was found.
[[nodiscard]] Json read_experiment_table(const std::filesystem::path& file);

}  // namespace bdc::host
