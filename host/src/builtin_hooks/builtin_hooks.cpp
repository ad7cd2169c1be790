#include "builtin_hooks/builtin_hooks.h"

#include "bdc/base/error.h"
#include "builtin_hooks/bdc_hook.h"
#include "builtin_hooks/consensus_hook.h"
#include "builtin_hooks/crowd_rcnn_hook.h"

namespace bdc::host {

std::unique_ptr<plugin::TrainingHook> make_builtin_hook(const std::string& name, const plugin::Options& options,
                                                        const HookServices& services) {
  if (services.labels->annotators.empty()) {
    throw DataError("hook '" + name +
                    "' makes a consensus of several annotators, but the training labels name no annotators\n  advice: "
                    "labels with annotators (docs/formats.md), or training without the hook");
  }
  if (name == "bdc") return make_bdc_hook(options, services);
  if (name == "crowd_rcnn") return make_crowd_rcnn_hook(options, services);
  return make_consensus_hook(name, options, services);
}

bool builtin_needs_predictions(const std::string& name, const plugin::Options& options) {
  return name == "crowd_rcnn" || (name == "bdc" && options.get_string("schedule") == "batch");
}

}  // namespace bdc::host
