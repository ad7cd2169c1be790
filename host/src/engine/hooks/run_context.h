#pragma once

#include <bdc/plugin/hook.h>

namespace bdc::host {

/// What hooks see of a run on these labels, which must outlive it: everything that follows from the labels alone, and
/// the ways between frames. `say` drops what it gets and predict_training_set throws std::logic_error until they are
/// set.
[[nodiscard]] plugin::RunContext make_run_context(const CrowdData& labels);

}  // namespace bdc::host
