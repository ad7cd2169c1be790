#include "engine/observers/best_weights.h"

#include <torch/nn.h>

#include <utility>

namespace bdc::host {

BestWeights::BestWeights(const CheckpointStore& store, Weights weights, Json about)
    : store_(store), weights_(std::move(weights)), about_(std::move(about)) {}

void BestWeights::after_epoch(LoopState& state) {
  if (!state.evaluation || state.evaluation->stats[0] <= ap_) return;
  ap_ = state.evaluation->stats[0];
  epoch_ = state.at.epoch;
  if (!state.is_writer()) return;
  Json about = {{"epoch", epoch_}, {"AP", ap_}};
  about.update(about_);
  store_.save_best(weights_(), about);
}

void BestWeights::restore(const Json& state) {
  ap_ = state.at("AP").get<double>();
  epoch_ = state.at("epoch").get<std::int64_t>();
}

}  // namespace bdc::host
