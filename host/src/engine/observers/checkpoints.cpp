#include "engine/observers/checkpoints.h"

#include <torch/nn.h>

#include <utility>

namespace bdc::host {

Checkpoints::Checkpoints(const CheckpointStore& store, std::int64_t every, std::function<Checkpoint()> snapshot)
    : store_(store), every_(every), snapshot_(std::move(snapshot)) {}

void Checkpoints::after_step(LoopState& state) {
  if (every_ > 0 && state.at.step % every_ == 0) save(state);
}

void Checkpoints::save(LoopState& state) {
  if (saved_ && *saved_ == state.at) return;
  state.stage = "saving a checkpoint";
  state.clock.begin("saving");
  const Checkpoint checkpoint = snapshot_();  // every rank has a part in it
  if (state.is_writer()) store_.save(checkpoint);
  saved_ = state.at;
}

}  // namespace bdc::host
