#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "files/json_file.h"

namespace bdc::host {

/// One combination of a grid: a line's contribution for one seed.
struct Cell {
  std::string data, crowd, method, detector;  ///< names, for the table; detector is empty when nothing is trained
  std::int64_t seed = 0;
  Json settings;   ///< all that the result depends on, digests of files among it
  std::string id;  ///< a file name: the names, the seed and a digest of the settings
};

/// What an experiment file describes (docs/experiments.md).
struct Grid {
  std::string name, source;  ///< source: the file's name, for messages
  bool times = false;        ///< the table has seconds
  std::vector<Cell> cells;   ///< seeds innermost; data, crowd, detector, method from outside in
};

/// A training config with all that it is based on, as text.
using ResolvedConfig = std::function<std::string(const std::filesystem::path&)>;

/// Reads and checks an experiment file. Paths in it are relative to it. Throws UserError (exit 3).
[[nodiscard]] Grid read_grid(const std::filesystem::path& file, const ResolvedConfig& resolved);

}  // namespace bdc::host
