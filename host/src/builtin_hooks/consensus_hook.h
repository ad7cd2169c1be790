#pragma once

#include "builtin_hooks/builtin_hooks.h"

namespace bdc::host {

/// Trains on the consensus of one of the methods that need no detector: made once, before training, and mapped into
/// the frame of every batch.
[[nodiscard]] std::unique_ptr<plugin::TrainingHook> make_consensus_hook(const std::string& method,
                                                                        const plugin::Options& options,
                                                                        const HookServices& services);

}  // namespace bdc::host
