#include "plugins/builtin_info.h"

#include <algorithm>

namespace bdc::host {
namespace {

void add_missing(const std::vector<plugin::OptionSpec>& from, std::vector<plugin::OptionSpec>& to) {
  for (const auto& option : from) {
    const bool known = std::any_of(to.begin(), to.end(), [&](const auto& o) { return o.name == option.name; });
    if (!known) to.push_back(option);
  }
}

/// What the hook itself understands, whatever the learner.
std::vector<plugin::OptionSpec> watching_options(const LearnerTraits& traits) {
  std::vector<plugin::OptionSpec> out;
  if (traits.once_per_epoch) {
    out.push_back(plugin::string_option("schedule", "batch",
                                        "batch: targets from the step's own predictions; epoch: from a clean "
                                        "pass over the training images before "
                                        "each epoch",
                                        {"batch", "epoch"}));
  }
  out.push_back(plugin::int_option("warmup", traits.warmup,
                                   traits.warmup_targets == WarmUp::annotations
                                       ? "epochs on the consensus of the annotations alone"
                                       : "epochs with a uniform prior instead of the detector's classes",
                                   0, 1000000));
  return out;
}

plugin::HookInfo hook_of(const MethodInfo& method) {
  const LearnerTraits& traits = method.learners.front()->info.traits;
  plugin::HookInfo info;
  info.name = method.name;
  info.description =
      "trains on the consensus of " + method.name +
      (traits.learns_annotators ? ", which learns how each annotator errs" : " (" + method.description + ")");
  info.replaces_targets = info.needs_annotators = true;
  info.needs_predictions = traits.uses_detections;
  info.needs_capabilities = traits.needs_capabilities;
  if (method.learners.size() > 1) info.options.push_back(method.options.front());  // profile
  if (traits.uses_detections) add_missing(watching_options(traits), info.options);
  for (const LearnerEntry* learner : method.learners) add_missing(hook_options_of(learner->info), info.options);
  if (traits.uses_detections) {
    info.options.push_back(
        plugin::bool_option("save_labels", false, "write the consensus of every epoch into the run folder"));
  }
  return info;
}

/// Those that learn together with the detector first.
std::vector<plugin::HookInfo> make_table() {
  std::vector<plugin::HookInfo> table;
  for (const MethodInfo& method : methods()) table.push_back(hook_of(method));
  std::stable_partition(table.begin(), table.end(),
                        [](const plugin::HookInfo& hook) { return hook.needs_predictions; });
  return table;
}

}  // namespace

const std::vector<plugin::OptionSpec>& hook_options_of(const LearnerInfo& learner) {
  return learner.traits.uses_detections ? learner.training_options : learner.options;
}

const std::vector<plugin::HookInfo>& builtin_hooks() {
  static const std::vector<plugin::HookInfo> table = make_table();
  return table;
}

const plugin::HookInfo* find_builtin_hook(const std::string& name) {
  for (const plugin::HookInfo& info : builtin_hooks()) {
    if (info.name == name) return &info;
  }
  return nullptr;
}

}  // namespace bdc::host
