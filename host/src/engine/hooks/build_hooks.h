#pragma once

#include <vector>

#include "engine/hooks/hook_list.h"
#include "engine_api/run_config.h"
#include "plugins/catalog.h"

namespace bdc::host {

/// The hooks of a run on `labels`. Throws UserError, and DataError when a hook needs annotators and the labels name
/// none.
[[nodiscard]] HookList build_hooks(const std::vector<HookChoice>& choices, const Catalog& catalog,
                                   const plugin::DetectorInfo& detector, const CrowdData& labels);

}  // namespace bdc::host
