#include "plugins/known_hook.h"

#include <algorithm>
#include <vector>

#include "bdc/base/text.h"
#include "bdc/base/user_error.h"
#include "plugins/builtin_info.h"
#include "plugins/loaded_plugin.h"

namespace bdc::host {
namespace {

/// Detectors that have a capability, by name. Loads every detector that can be loaded; the others cannot help anyway.
std::vector<std::string> detectors_with(const std::string& capability, const Catalog& catalog) {
  std::vector<std::string> out;
  for (const PluginEntry& entry : catalog.entries()) {
    if (!entry.problem.empty() || !catalog.has(entry.name, Catalog::Kind::detector)) continue;
    try {
      const auto info = LoadedPlugin::load(catalog.find(entry.name, Catalog::Kind::detector).file).detector_info();
      const auto& has = info.capabilities;
      if (std::find(has.begin(), has.end(), capability) != has.end()) out.push_back(entry.name);
    } catch (const UserError&) {
    }
  }
  return out;
}

}  // namespace

KnownHook find_hook(const std::string& name, const Catalog& catalog) {
  if (const plugin::HookInfo* builtin = find_builtin_hook(name)) {
    if (catalog.has(name, Catalog::Kind::hook)) {
      throw UserError(ExitCode::config, "hook '" + name + "' is built in, but " +
                                            catalog.find(name, Catalog::Kind::hook).file.string() +
                                            " also has that name\n  advice: give the plugin's hook another name");
    }
    return {*builtin, nullptr};
  }
  std::vector<std::string> built_in;
  for (const plugin::HookInfo& hook : builtin_hooks()) built_in.push_back(hook.name);
  const PluginEntry& entry = catalog.find(name, Catalog::Kind::hook, built_in);
  return {LoadedPlugin::load(entry.file).hook_info(), &entry};
}

void check_capabilities(const plugin::HookInfo& hook, const plugin::DetectorInfo& detector, const Catalog& catalog) {
  const auto& has = detector.capabilities;
  for (const auto& need : hook.needs_capabilities) {
    if (std::find(has.begin(), has.end(), need) != has.end()) continue;
    const auto others = detectors_with(need, catalog);
    throw UserError(ExitCode::config,
                    "hook '" + hook.name + "' needs a detector with '" + need + "', which plugin '" + detector.name +
                        "' does not have" + (has.empty() ? "" : " (it has: " + join(has) + ")") +
                        (others.empty() ? "\n  advice: no plugin that can be found from here has it"
                                        : "\n  advice: use one that has it: --plugin " + join(others, " or ")));
  }
}

void check_one_replaces_targets(const std::vector<plugin::HookInfo>& hooks) {
  const plugin::HookInfo* first = nullptr;
  for (const plugin::HookInfo& hook : hooks) {
    if (!hook.replaces_targets) continue;
    if (first != nullptr) {
      throw UserError(ExitCode::config, "hooks '" + first->name + "' and '" + hook.name +
                                            "' both make the targets; a run can have only one of them");
    }
    first = &hook;
  }
}

}  // namespace bdc::host
