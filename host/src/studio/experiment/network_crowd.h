#pragma once

#include <atomic>
#include <optional>

#include "studio/experiment/cell_settings.h"
#include "studio/experiment/grid.h"

namespace bdc::host {

/// A cell whose crowd annotates with networks, with that crowd drawn: `bdc-host synth` trains the networks and lets
/// them annotate the cell's training images in a child process, and its crowd is as_drawn from then on. Other cells
/// come back as they are. What was done before is not done again; cells of the same data, crowd and seed share it, and
/// crowds of the same networks share those. Returns none when `stop` was set. Throws UserError (exit 1) when it fails,
/// exit 3 when the data name no images.
[[nodiscard]] std::optional<Cell> with_network_crowd(const Cell& cell, const CellSettings& settings,
                                                     const std::atomic<bool>& stop);

}  // namespace bdc::host
