#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "bdc/base/user_error.h"
#include "engine_api/engine.h"

namespace bdc::host {

/// Where cells run, and how.
struct CellSettings {
  std::filesystem::path folder;              ///< of the experiment: cells/, runs/, files/, logs/
  std::vector<std::string> program_options;  ///< handed on to `train`: --plugin-path, --registry
  OpenEngine engine;                         ///< for built-in images
  bool times = false;
  int threads = 0;
  std::function<void(const std::string&)> live;  ///< told what is going on within a cell; may be empty
};

/// A cell that cannot be run; the others may well be.
class CellFailure : public UserError {
 public:
  using UserError::UserError;
};

}  // namespace bdc::host
