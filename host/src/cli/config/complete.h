#pragma once

#include <string>
#include <vector>

#include "cli/config/config.h"
#include "engine_api/run_config.h"
#include "plugins/catalog.h"

namespace bdc::host {

/// A resolved config made complete with what only the plugin knows: its recommendations in place of nulls, and the
/// options of the plugin and of every hook checked and filled with defaults (registry.json's first, then the plugin's
/// own). Throws UserError: exit 3 for options,
/// naming the layer (of resolve_config) or the place in registry.json that has them; exit 5 and 6 for plugins that
/// cannot be had.
[[nodiscard]] Json complete_config(Json config, const Catalog& catalog, const std::vector<ConfigLayer>& layers = {});

/// The built-in shapes have no annotators unless asked for; where a hook needs some they get a mixed crowd of ten.
void give_shapes_a_crowd(RunConfig& config);

/// A config whose options are complete as the engine takes it, with what the plugin recommends in place of nulls: from
/// here on there is no JSON.
[[nodiscard]] RunConfig to_run_config(const Json& config, const Catalog& catalog);

}  // namespace bdc::host
