#pragma once

#include <string>
#include <vector>

#include "bdc/plugin/options.h"
#include "config/json_file.h"

namespace bdc::host {

/// One key of a training config. The option's name is the dotted path, e.g. "train.epochs".
struct ConfigKey {
  plugin::OptionSpec spec;
  bool from_plugin = false;  ///< null (the default) means: what the plugin recommends
};

/// Every key but two that have a shape of their own: "plugin.options" (an object, checked against the plugin's schema)
/// and "hooks" (a list of {name, priority, options}).
[[nodiscard]] const std::vector<ConfigKey>& config_keys();

/// All keys at their defaults.
[[nodiscard]] Json default_config();

/// Throws UserError (exit 3) with `source`, the key's path, what was expected and the nearest known key, unless every
/// key in `layer` is known and of the right type. A layer need not be complete.
void check_layer(const Json& layer, const std::string& source);

}  // namespace bdc::host
