#pragma once

#include <string>
#include <vector>

#include "cli/config/config.h"
#include "engine_api/run_config.h"
#include "plugins/catalog.h"

namespace bdc::host {

/// A config in which nothing is left open.
struct CompleteConfig {
  Json json;           ///< as it is shown and kept with the run
  RunConfig settings;  ///< as the engine takes it: from here on there is no JSON
};

/// A resolved config made complete with what only the plugin knows: its recommendations in place of nulls, and the
/// options of the plugin and of every hook checked and filled with defaults (registry.json's first, then the plugin's
/// own). Throws UserError: exit 3 for options, naming the layer (of resolve_config) or the place in registry.json that
/// has them; exit 5 and 6 for plugins that cannot be had.
[[nodiscard]] CompleteConfig complete_config(Json config, const Catalog& catalog,
                                             const std::vector<ConfigLayer>& layers = {});

/// Throws as complete_config does for hooks that cannot be had or whose options are wrong: what can be checked of a
/// config without a detector.
void check_hooks(const Json& config, const Catalog& catalog, const std::vector<ConfigLayer>& layers);

/// The built-in shapes have no annotators unless asked for; where a hook needs some they get a mixed crowd of ten.
void give_shapes_a_crowd(RunConfig& config);

/// The settings of a run that has been trained, whose options are complete; keys that are newer than it get what the
/// plugin recommends.
[[nodiscard]] RunConfig to_run_config(Json config, const Catalog& catalog);

}  // namespace bdc::host
