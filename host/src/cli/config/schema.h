#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bdc/plugin/options.h"
#include "engine_api/run_config.h"
#include "files/json_file.h"

namespace bdc::host {

/// Whether a key names a file or folder, or several, comma-separated.
enum class PathKind { none, one, several };

/// One key of a training config. The option's name is the dotted path, e.g. "train.epochs".
struct ConfigKey {
  plugin::OptionSpec spec;
  PathKind path = PathKind::none;
  std::function<void(RunConfig&, const Json&)> set;  ///< puts a checked value into the member that the key stands for
  /// What the detector recommends where the key is null, its default; empty: the key cannot be null.
  std::function<plugin::OptionValue(const plugin::DetectorInfo&)> recommended;
};

/// Every key but two that have a shape of their own: "plugin.options" (an object, checked against the plugin's schema)
/// and "hooks" (a list of {name, priority, options}).
[[nodiscard]] const std::vector<ConfigKey>& config_keys();

/// All keys at their defaults.
[[nodiscard]] Json default_config();

/// Throws UserError (exit 3) with `source`, the key's path, what was expected and the nearest known key, unless every
/// key in `layer` is known and of the right type. A layer need not be complete.
void check_layer(const Json& layer, const std::string& source);

/// Puts what the detector recommends in the place of every null. The config is otherwise complete.
void fill_recommended(Json& config, const plugin::DetectorInfo& info);

/// What a complete config says, but for the options of the plugin and the hooks: those need schemas of their own.
[[nodiscard]] RunConfig settings_of(const Json& config);

/// The same with absolute paths in place of relative ones, so that it can be used from any folder.
[[nodiscard]] Json with_absolute_paths(Json config);

}  // namespace bdc::host
