#pragma once

#include "studio/experiment/cell_data.h"
#include "studio/experiment/cell_settings.h"
#include "studio/experiment/grid.h"

namespace bdc::host {

/// A value as `--set` and `--hook` take it.
[[nodiscard]] std::string value_text(const Json& value);

/// The options of `train` and `config` that say which detector is trained, with which hook and which settings.
[[nodiscard]] std::vector<std::string> detector_arguments(const Cell& cell, const CellSettings& settings);

/// `train` and all its options for a cell with a detector.
[[nodiscard]] std::vector<std::string> train_arguments(const Cell& cell, const CellSettings& settings,
                                                       const CellFiles& files);

}  // namespace bdc::host
