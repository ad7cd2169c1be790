#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "files/json_file.h"

namespace bdc::host {

/// Settings of another program's run in terms of our keys.
struct ImportedConfig {
  Json layer;                      ///< checked, as a config file would say it
  std::vector<std::string> notes;  ///< what was taken from which key, and what was not used, for people
};

/// Reads the hyperparameters of YOLOv5, v7 or Ultralytics (YAML), a config of Detectron2 (YAML), or one that
/// MMDetection has dumped as JSON; which of them is told from its keys. Programs (.py) are refused, never run. Throws
/// UserError (exit 3) for a file that is none of these, is broken, or holds a value that a key of ours does not allow.
[[nodiscard]] ImportedConfig import_config(const std::filesystem::path& file);

}  // namespace bdc::host
