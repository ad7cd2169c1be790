#include "cli/config/complete.h"

#include <algorithm>

#include "bdc/base/user_error.h"
#include "cli/config/schema.h"
#include "plugins/known_hook.h"
#include "plugins/loaded_plugin.h"
#include "plugins/options.h"

namespace bdc::host {
namespace {

/// registry.json's options below the config's.
Json layered(const Json& registry, const Json& config) {
  Json out = registry;
  for (const auto& [key, value] : config.items()) out[key] = value;
  return out;
}

void check_input_size(const Json& config, const plugin::DetectorInfo& info) {
  const auto size = config["train"]["input_size"].get<std::int64_t>();
  if (size % info.stride != 0 || size < info.min_input_size) {
    throw UserError(ExitCode::config, "train.input_size: is " + std::to_string(size) + ", but plugin '" + info.name +
                                          "' needs a multiple of " + std::to_string(info.stride) + ", at least " +
                                          std::to_string(info.min_input_size));
  }
}

void check_half_precision(const Json& config, const plugin::DetectorInfo& info) {
  const auto& has = info.capabilities;
  if (!config["train"]["amp"].get<bool>() || std::find(has.begin(), has.end(), "half_precision") != has.end()) return;
  throw UserError(ExitCode::config, "train.amp: plugin '" + info.name +
                                        "' does not say that it can compute in half precision\n  advice: leave out "
                                        "--amp, or add the capability \"half_precision\" to the plugin");
}

/// Checks registry.json's options on their own, so that an error names their place.
void check_registered(const std::vector<plugin::OptionSpec>& schema, const PluginEntry& entry) {
  if (!entry.place.empty()) (void)check_options(schema, entry.options, entry.place + ".options");
}

/// Likewise every layer's options of the plugin.
void check_plugin_layers(const std::vector<plugin::OptionSpec>& schema, const std::vector<ConfigLayer>& layers) {
  for (const ConfigLayer& layer : layers) {
    const Json plugin = layer.content.value("plugin", Json::object());
    if (plugin.contains("options")) {
      (void)check_options(schema, plugin["options"], layer.source + ": plugin.options");
    }
  }
}

/// Likewise every layer's options of a hook.
void check_hook_layers(const plugin::HookInfo& info, const std::vector<ConfigLayer>& layers) {
  for (const ConfigLayer& layer : layers) {
    for (const Json& hook : layer.content.value("hooks", Json::array())) {
      if (hook["name"] != info.name || !hook.contains("options")) continue;
      (void)check_options(info.options, hook["options"], layer.source + ": hooks." + info.name + ".options");
    }
  }
}

const PluginEntry& detector_entry(const Json& config, const Catalog& catalog) {
  const auto name = config["plugin"]["name"].get<std::string>();
  if (name.empty()) {
    throw UserError(ExitCode::usage,
                    "no plugin given; use --plugin NAME or plugin.name in a config (see `bdc-host plugins list`)");
  }
  return catalog.find(name, Catalog::Kind::detector);
}

/// A complete config, of this detector and these hooks, as the engine takes it.
RunConfig typed(const Json& config, const plugin::DetectorInfo& info, const std::vector<plugin::HookInfo>& hooks) {
  RunConfig out = settings_of(config);
  out.plugin.options = check_options(info.options, config["plugin"]["options"], "plugin.options");
  for (std::size_t n = 0; n < hooks.size(); ++n) {
    const Json& hook = config["hooks"][n];
    out.hooks.push_back({hooks[n].name, hook["priority"].get<int>(),
                         check_options(hooks[n].options, hook["options"], "hooks." + hooks[n].name + ".options")});
    if (hooks[n].needs_annotators) give_shapes_a_crowd(out);
  }
  return out;
}

}  // namespace

void give_shapes_a_crowd(RunConfig& config) {
  const bool files = !config.data.labels.empty() || config.data.source == "files";
  SimulatedCrowdConfig& crowd = config.data.shapes.crowd;
  if (files || crowd.experts + crowd.average + crowd.poor + crowd.random > 0) return;
  crowd.experts = 2;
  crowd.average = 5;
  crowd.poor = 2;
  crowd.random = 1;
}

void check_hooks(const Json& config, const Catalog& catalog, const std::vector<ConfigLayer>& layers) {
  for (const Json& hook : config["hooks"]) {
    check_hook_layers(find_hook(hook["name"].get<std::string>(), catalog).info, layers);
  }
}

CompleteConfig complete_config(Json config, const Catalog& catalog, const std::vector<ConfigLayer>& layers) {
  const PluginEntry& entry = detector_entry(config, catalog);
  const plugin::DetectorInfo info = LoadedPlugin::load(entry.file).detector_info();
  check_registered(info.options, entry);
  check_plugin_layers(info.options, layers);
  config["plugin"]["options"] =
      to_json(check_options(info.options, layered(entry.options, config["plugin"]["options"]), "plugin.options"));
  fill_recommended(config, info);
  check_input_size(config, info);
  check_half_precision(config, info);
  std::vector<plugin::HookInfo> hooks;
  for (auto& hook : config["hooks"]) {
    const KnownHook known = find_hook(hook["name"].get<std::string>(), catalog);
    const plugin::HookInfo& about = known.info;
    if (known.entry != nullptr) check_registered(about.options, *known.entry);
    check_hook_layers(about, layers);
    const Json registry_options = known.entry != nullptr ? known.entry->options : Json::object();
    check_capabilities(about, info, catalog);
    if (!hook.contains("priority")) hook["priority"] = about.priority;
    hook["options"] =
        to_json(check_options(about.options, layered(registry_options, hook.value("options", Json::object())),
                              "hooks." + about.name + ".options"));
    hooks.push_back(about);
  }
  check_one_replaces_targets(hooks);
  RunConfig settings = typed(config, info, hooks);
  return {std::move(config), std::move(settings)};
}

RunConfig to_run_config(Json config, const Catalog& catalog) {
  const plugin::DetectorInfo info = LoadedPlugin::load(detector_entry(config, catalog).file).detector_info();
  fill_recommended(config, info);
  std::vector<plugin::HookInfo> hooks;
  for (const Json& hook : config["hooks"]) hooks.push_back(find_hook(hook["name"].get<std::string>(), catalog).info);
  return typed(config, info, hooks);
}

}  // namespace bdc::host
