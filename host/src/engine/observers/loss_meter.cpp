#include "engine/observers/loss_meter.h"

#include <torch/nn.h>

#include <cmath>

namespace bdc::host {

void LossMeter::after_batch(LoopState&, const plugin::LossTerms& terms) {
  const double loss = terms.total.item<double>();
  if (!std::isfinite(loss)) return;  // mixed precision tries again with a smaller loss scale
  sums_["loss"] += loss;
  for (const auto& [part, value] : terms.parts) sums_[part] += value.item<double>();
  ++batches_;
}

void LossMeter::after_steps(LoopState& state) {
  for (const auto& [part, mean] : means()) state.run.metrics["train/" + part] = mean;
}

void LossMeter::after_epoch(LoopState&) {
  sums_.clear();
  batches_ = 0;
}

std::map<std::string, double> LossMeter::means() const {
  std::map<std::string, double> out;
  for (const auto& [part, sum] : sums_) out[part] = sum / static_cast<double>(batches_);
  return out;
}

Json LossMeter::save() const {
  return {{"sums", sums_}, {"batches", batches_}};
}

void LossMeter::restore(const Json& state) {
  sums_.clear();
  for (const auto& [part, sum] : state.at("sums").items()) sums_[part] = number_or_nan(sum);
  batches_ = state.at("batches").get<std::int64_t>();
}

}  // namespace bdc::host
