#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "files/json_file.h"

namespace bdc::host {

/// What a user says about a run: a file and what the command line changes in it.
struct ConfigRequest {
  std::optional<std::filesystem::path> file;
  std::optional<std::filesystem::path> imported;  ///< --import-config: another program's, below `file`
  std::string plugin;                             ///< --plugin
  std::vector<std::string> hooks;                 ///< --hook NAME[:KEY=VALUE,...]
  std::vector<std::string> sets;                  ///< --set KEY=VALUE
};

/// What one file or one option of the command line says, and its name in messages: "train.json", "--set".
struct ConfigLayer {
  std::string source;
  Json content;
};

/// Defaults, then another program's config, then the file with its bases, then --plugin, --hook, --set. Every layer is
/// checked on its own, so an error names the file or option it is in. Throws UserError (exit 3; exit 2 for a --hook or
/// --set that is not of its form). Options of plugins and hooks are checked later, when their schema is known:
/// `layers`, where given, gets what was put together, lowest first, without options that --plugin has made void;
/// `notes` what was imported, for people.
[[nodiscard]] Json resolve_config(const ConfigRequest& request, std::vector<ConfigLayer>* layers = nullptr,
                                  std::vector<std::string>* notes = nullptr);

/// A complete config with --set changes. A run's own config may lack keys that are newer than it: they get defaults.
[[nodiscard]] Json with_sets(const Json& config, const std::vector<std::string>& sets);

}  // namespace bdc::host
