#pragma once

#include <functional>
#include <map>
#include <string>

#include "engine/checkpoint_store.h"
#include "engine/observers/observer.h"

namespace bdc::host {

/// Keeps the weights of the epoch with the best AP as best.safetensors.
class BestWeights : public Observer {
 public:
  using Weights = std::function<std::map<std::string, torch::Tensor>()>;

  /// weights: those to keep, now. about: what the file says beside its epoch and AP. The store is borrowed.
  BestWeights(const CheckpointStore& store, Weights weights, Json about);

  void after_epoch(LoopState& state) override;

  [[nodiscard]] std::string name() const override { return "best_weights"; }
  [[nodiscard]] Json save() const override { return {{"AP", ap_}, {"epoch", epoch_}}; }
  void restore(const Json& state) override;

  [[nodiscard]] double ap() const { return ap_; }              ///< -1: none yet
  [[nodiscard]] std::int64_t epoch() const { return epoch_; }  ///< counted from 1

 private:
  const CheckpointStore& store_;
  Weights weights_;
  Json about_;
  double ap_ = -1;
  std::int64_t epoch_ = 0;
};

}  // namespace bdc::host
