#pragma once

#include "builtin_hooks/builtin_hooks.h"

namespace bdc::host {

/// Crowd R-CNN in training (bdc/core/crowd_rcnn.h): between forward and loss, the detector's classes of the very step
/// are the prior of every group of annotations; the class posteriors become the targets; the annotators' sensitivities
/// are updated when the epoch ends. During the first `warmup` epochs the prior is uniform.
[[nodiscard]] std::unique_ptr<plugin::TrainingHook> make_crowd_rcnn_hook(const plugin::Options& options,
                                                                         const HookServices& services);

}  // namespace bdc::host
