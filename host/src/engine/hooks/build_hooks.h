#pragma once

#include <vector>

#include "engine/hooks/hook_list.h"
#include "engine_api/run_config.h"
#include "plugins/catalog.h"
#include "ranks/communicator.h"

namespace bdc::host {

/// The hooks of a run on `labels`. Throws UserError, and DataError when a hook needs annotators and the labels name
/// none. The ranks are borrowed.
[[nodiscard]] HookList build_hooks(const std::vector<HookChoice>& choices, const Catalog& catalog,
                                   const plugin::DetectorInfo& detector, const CrowdData& labels,
                                   Communicator& ranks = Communicator::alone());

}  // namespace bdc::host
