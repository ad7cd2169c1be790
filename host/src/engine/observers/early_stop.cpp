#include "engine/observers/early_stop.h"

#include <torch/nn.h>

#include "bdc/base/table.h"

namespace bdc::host {

void EarlyStop::after_epoch(LoopState& state) {
  if (!state.evaluation || best_.epoch() == 0) return;
  waited_ = best_.epoch() == state.at.epoch ? 0 : waited_ + 1;
}

std::string EarlyStop::end_reason() const {
  if (patience_ == 0 || waited_ < patience_) return {};
  return "AP has not risen for " + std::to_string(waited_) + (measures_all_ ? " epoch" : " evaluation") +
         (waited_ == 1 ? "" : "s") + " (train.patience); the best was " + fixed(best_.ap(), 3) + " in epoch " +
         std::to_string(best_.epoch());
}

}  // namespace bdc::host
