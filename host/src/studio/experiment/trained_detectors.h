#pragma once

#include <atomic>
#include <optional>

#include "studio/experiment/cell_settings.h"
#include "studio/experiment/grid.h"

namespace bdc::host {

/// The cell with the "trained_detectors" of its crowd turned into "detectors": each is trained on built-in shapes of a
/// seed of its own (the same kind of images, with their truth), then finds objects in the cell's training images, and
/// what it finds is what it annotates. What was done before is not done again. Returns none when `stop` was set.
/// Throws UserError (exit 1) when training or predicting fails.
[[nodiscard]] std::optional<Cell> with_trained_detectors(const Cell& cell, const CellSettings& settings,
                                                         const std::atomic<bool>& stop);

}  // namespace bdc::host
