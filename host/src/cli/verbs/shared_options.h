#pragma once

#include <memory>
#include <string>

#include "cli/command.h"
#include "cli/config/config.h"
#include "plugins/catalog.h"

namespace bdc::host {

/// --registry and --plugin-path, the same in every verb that looks for plugins.
std::shared_ptr<SearchRequest> add_search_options(Command& verb);

/// --config, --plugin, --hook, --set, the same in every verb that takes a training config.
std::shared_ptr<ConfigRequest> add_config_options(Command& verb);

/// Where no data and no config is named, and the folder configs/ beside registry.json has a demo_<plugin>.json, that is
/// the config. Returns what to tell the user about it, or "".
[[nodiscard]] std::string use_demo_config(ConfigRequest& request, const Catalog& catalog);

}  // namespace bdc::host
