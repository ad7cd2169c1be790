#pragma once

#include "builtin_hooks/builtin_hooks.h"

namespace bdc::host {

/// BDC in training (docs/method.md). schedule "batch": between forward and loss, the predictions of the very step go
/// back to the original frame, become one more voice beside the annotations, and the consensus replaces the targets;
/// the posteriors are updated when the epoch ends. schedule "epoch": a clean pass over the training images before each
/// epoch fixes its targets. During the first `warmup` epochs the targets are the consensus of the annotations alone.
[[nodiscard]] std::unique_ptr<plugin::TrainingHook> make_bdc_hook(const plugin::Options& options,
                                                                  const HookServices& services);

}  // namespace bdc::host
