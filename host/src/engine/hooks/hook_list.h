#pragma once

#include <bdc/plugin/hook.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace bdc::host {

/// A hook of a run with its name, its place in the order and what it needs, all in `info`: as the hook's class told,
/// with the config's priority, refined by the hook.
struct HookInstance {
  plugin::HookInfo info;
  std::unique_ptr<plugin::TrainingHook> hook;
};

/// The hooks of a run. Stages go through it by priority (0 first), equal priorities in the order given. What a hook
/// throws leaves as a UserError (exit 7) that names the hook and the stage; on_exception and after_fit are called on
/// every hook, whatever the others do.
class HookList {
 public:
  /// Throws UserError (exit 3) when two hooks share a name, a priority is not in 0..100, or two hooks replace the
  /// targets.
  explicit HookList(std::vector<HookInstance> hooks);

  // Whether some hook does.
  [[nodiscard]] bool replaces_targets() const { return any(&plugin::HookInfo::replaces_targets); }
  [[nodiscard]] bool needs_predictions() const { return any(&plugin::HookInfo::needs_predictions); }
  [[nodiscard]] bool needs_crowd() const { return any(&plugin::HookInfo::needs_crowd); }
  [[nodiscard]] std::vector<std::string> names() const;  ///< in the order they run

  void before_fit(plugin::RunContext& run);
  void before_epoch(plugin::RunContext& run);
  void before_loss(plugin::RunContext& run, plugin::LossContext& step);
  void after_step(plugin::RunContext& run, const plugin::LossTerms& terms);
  void after_epoch(plugin::RunContext& run);
  /// Every hook's after_fit; the first error is thrown once all were called.
  void after_fit(plugin::RunContext& run);
  /// Every hook's on_exception; what they throw is dropped, the run is failing already.
  void on_exception(plugin::RunContext& run, const std::string& stage, const std::string& message) noexcept;

  [[nodiscard]] std::map<std::string, std::string> save_states() const;
  /// Gives each hook its bytes. Throws UserError (exit 3) when the states' names are not exactly the hooks' names, so
  /// that nothing learnt is lost without a word.
  void load_states(plugin::RunContext& run, const std::map<std::string, std::string>& states);

 private:
  [[nodiscard]] bool any(bool plugin::HookInfo::*flag) const;
  std::vector<HookInstance> hooks_;
};

}  // namespace bdc::host
