#pragma once

#include <bdc/plugin/hook.h>

#include <memory>
#include <string>

#include "ranks/communicator.h"

namespace bdc::host {

/// Any learner of bdc_core in training, under the name of its method: `bdc`, `crowd_rcnn`, `mv`, ... It goes through
/// the same door as hooks of plugins.
///
/// A learner that looks at detections: between forward and loss (schedule "batch") the predictions of the very step go
/// back to the original frame, the learner makes one consensus of them and the annotations, and that replaces the
/// targets; posteriors are updated when the epoch ends. schedule "epoch": a clean pass over the training images before
/// each epoch fixes its targets. During the first `warmup` epochs the detector has no say.
/// Other learners make their consensus once, before the first step.
///
/// Several ranks each observe their images; when the epoch ends all take the evidence of all, and so the same
/// posteriors, whatever their number. The state of a hook is the whole's, in rank 0.
///
/// `method` must be one of bdc::methods() and the options checked against find_builtin_hook(method)->options.
[[nodiscard]] std::unique_ptr<plugin::TrainingHook> make_learner_hook(const std::string& method,
                                                                      const plugin::HookConfig& config,
                                                                      Communicator& ranks = Communicator::alone());

}  // namespace bdc::host
