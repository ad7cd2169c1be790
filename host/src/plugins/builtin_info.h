#pragma once

#include <bdc/plugin/info.h>

#include <string>
#include <vector>

#include "bdc/learn/learners.h"

namespace bdc::host {

/// Hooks that are part of the program: one for every method of bdc::methods(), made from its learners' infos.
[[nodiscard]] const std::vector<plugin::HookInfo>& builtin_hooks();

/// Null when there is none of that name.
[[nodiscard]] const plugin::HookInfo* find_builtin_hook(const std::string& name);

/// Which of the hook's options are the learner's own.
[[nodiscard]] const std::vector<plugin::OptionSpec>& hook_options_of(const LearnerInfo& learner);

}  // namespace bdc::host
