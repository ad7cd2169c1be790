#pragma once

#include <functional>
#include <optional>

#include "engine/checkpoint_store.h"
#include "engine/observers/observer.h"

namespace bdc::host {

/// Saves the run: at the end of every epoch, every `every` optimiser steps within it (0: not), and when the run is
/// interrupted. Stands last in the list, so that it saves what the others have made of the event.
class Checkpoints : public Observer {
 public:
  /// snapshot: the whole run as it is now. The store is borrowed.
  Checkpoints(const CheckpointStore& store, std::int64_t every, std::function<Checkpoint()> snapshot);

  void after_step(LoopState& state) override;
  void after_epoch(LoopState& state) override { save(state); }
  void interrupted(LoopState& state) override { save(state); }

 private:
  void save(LoopState& state);

  const CheckpointStore& store_;
  std::int64_t every_;
  std::function<Checkpoint()> snapshot_;
  std::optional<RunPosition> saved_;
};

}  // namespace bdc::host
