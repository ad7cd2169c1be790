#include "engine/hooks/build_hooks.h"

#include <bdc/plugin/abi.h>
#include <torch/nn.h>

#include "bdc/base/error.h"
#include "bdc/base/text.h"
#include "bdc/base/user_error.h"
#include "engine/hooks/learner_hook.h"
#include "plugins/known_hook.h"
#include "plugins/loaded_plugin.h"

namespace bdc::host {
namespace {

std::unique_ptr<plugin::TrainingHook> make_hook(const KnownHook& hook, const plugin::HookConfig& config,
                                                Communicator& ranks) {
  const std::string& name = hook.info.name;
  if (hook.entry == nullptr) return make_learner_hook(name, config, ranks);
  const LoadedPlugin plugin = LoadedPlugin::load(hook.entry->file);
  std::unique_ptr<plugin::TrainingHook> out;
  call_plugin("hook '" + name + "'", "its constructor", [&] { out.reset(plugin.descriptor().create_hook(config)); });
  if (!out) throw UserError(ExitCode::plugin_threw, "hook '" + name + "': its factory returned null");
  return out;
}

}  // namespace

HookList build_hooks(const std::vector<HookChoice>& choices, const Catalog& catalog,
                     const plugin::DetectorInfo& detector, const CrowdData& labels, Communicator& ranks) {
  std::vector<HookInstance> out;
  for (const HookChoice& choice : choices) {
    KnownHook known = find_hook(choice.name, catalog);
    plugin::HookInfo& info = known.info;
    check_capabilities(info, detector, catalog);
    const plugin::HookConfig hook_config{static_cast<std::int64_t>(labels.classes.size()), choice.options};
    if (info.needs_annotators && labels.annotators.empty()) {
      throw DataError("hook '" + info.name +
                      "' makes a consensus of several annotators, but the training labels name no annotators\n  "
                      "advice: use labels with annotators (docs/formats.md), or train without the hook");
    }
    auto hook = make_hook(known, hook_config, ranks);
    info.priority = choice.priority;
    plugin::HookInfo refined = info;
    call_plugin("hook '" + info.name + "'", "refine", [&] { hook->refine(refined); });
    info.needs_predictions = refined.needs_predictions;
    info.needs_crowd = refined.needs_crowd;
    out.push_back({std::move(info), std::move(hook)});
  }
  return HookList(std::move(out));
}

}  // namespace bdc::host
