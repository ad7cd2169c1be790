#pragma once

#include <bdc/plugin/types.h>

#include <memory>
#include <string>
#include <vector>

#include "data/batch.h"
#include "engine/loop_state.h"
#include "files/json_file.h"

namespace bdc::host {

/// Watches the training loop and does one thing beside it: evaluates, logs, draws, saves. Hooks change what is trained
/// on; observers never do. The loop tells all observers of an event in the order of their list:
///
///     before_fit
///     for each epoch:
///       for each batch:  before_loss (targets are final) -> after_batch
///         where the optimiser made a step: after_step
///                        after_steps   (all steps are done, hooks' after_epoch not yet)
///                        after_epoch   (state.at stands before the next epoch: at.epoch is the number of epochs done)
///     interrupted        (instead of what would come next)
class Observer {
 public:
  Observer() = default;
  virtual ~Observer() = default;
  Observer(const Observer&) = delete;
  Observer& operator=(const Observer&) = delete;

  virtual void before_fit(LoopState&) {}
  virtual void before_loss(LoopState&, const Batch&) {}
  virtual void after_batch(LoopState&, const plugin::LossTerms&) {}
  virtual void after_step(LoopState&) {}
  virtual void after_steps(LoopState&) {}
  virtual void after_epoch(LoopState&) {}
  virtual void interrupted(LoopState&) {}

  /// Why training should end before its last epoch; "": it should not.
  [[nodiscard]] virtual std::string end_reason() const { return {}; }

  /// Names the state in checkpoints; unique. "": there is none.
  [[nodiscard]] virtual std::string name() const { return {}; }
  /// All that later results depend on.
  [[nodiscard]] virtual Json save() const { return nullptr; }
  /// Gets what save gave. Not called when the checkpoint has no state of this name. Throws Json::exception when the
  /// state is another one's.
  virtual void restore(const Json&) {}
};

using Observers = std::vector<std::unique_ptr<Observer>>;

}  // namespace bdc::host
