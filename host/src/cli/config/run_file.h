#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "cli/config/complete.h"
#include "engine_api/engine.h"
#include "plugins/catalog.h"

namespace bdc::host {

/// How --resume goes on with a run.
struct ResumedConfig {
  CompleteConfig config;           ///< as the run began
  std::vector<std::string> notes;  ///< what the user should know
};

/// The config inside the checkpoint of a run folder, or, when the run was stopped before its first checkpoint, its
/// config.json: it then begins again. Throws UserError when there is neither, or when neither can be used.
[[nodiscard]] ResumedConfig config_of_run(const std::filesystem::path& folder, const Catalog& catalog, Engine& engine);

/// A config as a checkpoint or a weight file holds it; keys that are newer than it have their defaults. Throws
/// UserError (exit 4), naming `source`, when it is damaged.
[[nodiscard]] Json parse_run_config(const std::string& text, const std::string& source);

}  // namespace bdc::host
