#pragma once

#include <filesystem>
#include <string>

#include "bdc/crowd/crowd_data.h"
#include "engine_api/engine.h"
#include "studio/experiment/grid.h"

namespace bdc::host {

/// The cell's crowd as parse_crowd_spec takes it.
[[nodiscard]] Json crowd_spec_json(const Cell& cell);

/// The truth of a cell's training images; the engine draws built-in ones. Throws DataError when the file does not fit.
[[nodiscard]] CrowdData cell_truth(const Cell& cell, const OpenEngine& engine);

/// The labels of a cell: the truth of its data, annotated by its crowd, or those of a real crowd. Depends on data,
/// crowd and seed alone. Throws DataError or UserError when files do not fit.
[[nodiscard]] CrowdData cell_crowd(const Cell& cell, int threads, const OpenEngine& engine);

/// The built-in shapes of a cell as files, written where they are not there yet: train/, test/ (PNG) and test.json.
[[nodiscard]] std::filesystem::path shapes_folder(const Cell& cell, const std::filesystem::path& folder, int threads,
                                                  const OpenEngine& engine);

/// Files to train a cell on.
struct CellFiles {
  // truth is empty where nobody knows it.
  std::string crowd, truth, images, val_labels, val_images;
};

/// Writes what is not there yet below `folder`: crowd and truth as JSON, built-in shapes as PNG. Cells of the same
/// data, crowd and seed share them. A folder appears complete or not at all.
[[nodiscard]] CellFiles cell_files(const Cell& cell, const std::filesystem::path& folder, int threads,
                                   const OpenEngine& engine);

/// Removes what cell_files wrote for a cell, so that it is written anew: something in it is damaged.
void forget_files(const Cell& cell, const std::filesystem::path& folder);

}  // namespace bdc::host
