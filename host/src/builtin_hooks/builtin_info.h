#pragma once

#include <bdc/plugin/info.h>

#include <string>
#include <vector>

namespace bdc::host {

/// Hooks that are part of the program: `bdc`, `crowd_rcnn`, and one for every other method of `bdc-host aggregate` that
/// needs no detector (na, mv, wbf, ...), so that every method trains through the same door.
[[nodiscard]] const std::vector<plugin::HookInfo>& builtin_hooks();

/// Null when there is none of that name.
[[nodiscard]] const plugin::HookInfo* find_builtin_hook(const std::string& name);

}  // namespace bdc::host
