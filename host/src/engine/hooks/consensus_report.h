#pragma once

#include <bdc/plugin/hook.h>

#include "bdc/crowd/targets.h"
#include "bdc/learn/annotator_posteriors.h"

/// What built-in hooks leave in the log and in the run folder.
namespace bdc::host {

/// Logs "<hook>/targets", and "<hook>/AP", "/AP50", "/AP75" of the consensus where the labels have truth (aggregation
/// AP). The only place where a hook looks at truth: nothing it computes goes back into training.
void report_targets(const std::string& hook, const Targets& targets, plugin::RunContext& run);

/// Writes annotators.json (the latest) and annotators/epoch_0001.json (epoch 0: what the annotations alone say).
void write_annotators(const AnnotatorPosteriors& posteriors, std::int64_t epoch, plugin::RunContext& run);

/// Writes labels/epoch_0001.json: the consensus as COCO JSON.
void write_labels(const Targets& targets, std::int64_t epoch, plugin::RunContext& run);

}  // namespace bdc::host
