#pragma once

#include <string>
#include <vector>

#include "bdc/plugin/info.h"
#include "plugins/catalog.h"

namespace bdc::host {

/// A hook that a config may name.
struct KnownHook {
  plugin::HookInfo info;
  const PluginEntry* entry = nullptr;  ///< of the plugin it comes from, owned by the catalog; null: built in
};

/// Throws UserError: exit 3 when a plugin has the name of a built-in hook, 5 to 7 when the hook cannot be had.
[[nodiscard]] KnownHook find_hook(const std::string& name, const Catalog& catalog);

/// Throws UserError (exit 3) that names detectors that can, where this one lacks a capability that the hook needs.
void check_capabilities(const plugin::HookInfo& hook, const plugin::DetectorInfo& detector, const Catalog& catalog);

/// Two hooks that both replace the targets would each undo the other's work. Throws UserError (exit 3) that names them.
void check_one_replaces_targets(const std::vector<plugin::HookInfo>& hooks);

}  // namespace bdc::host
