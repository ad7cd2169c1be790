#pragma once

#include "bdc/base/ranks.h"
#include "bdc/base/state_bytes.h"
#include "bdc/crowd/targets.h"

namespace bdc {

/// Targets as bytes of a state, and back. load_targets throws std::invalid_argument for bytes that do not fit together.
void save_targets(const Targets& targets, StateWriter& state);
[[nodiscard]] Targets load_targets(StateReader& state);

/// Who gets the whole of what several ranks have made.
enum class Whole { in_first, in_all };

/// Puts the targets of consecutive parts of the images together, rank 0's first. Ranks that do not get the whole are
/// left with none.
void join_targets(Ranks& ranks, Whole whole, Targets& own);

}  // namespace bdc
