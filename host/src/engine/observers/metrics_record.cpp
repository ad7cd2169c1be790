#include "engine/observers/metrics_record.h"

#include <torch/nn.h>

#include <cmath>
#include <utility>

namespace bdc::host {

MetricsRecord::MetricsRecord(std::filesystem::path folder, const TrainSettings& settings)
    : folder_(std::move(folder)), settings_(settings) {}

void MetricsRecord::before_fit(LoopState& state) {
  if (state.is_writer()) log_.emplace(folder_, state.at.epoch);
}

void MetricsRecord::after_steps(LoopState& state) {
  auto& metrics = state.run.metrics;
  metrics["train/learning_rate"] = settings_.learning_rate_at(state.at.step - 1, state.run.num_images);
  if (state.images_done > 0) {  // none are when the run was interrupted after the last step
    metrics["train/images_per_second"] = static_cast<double>(state.images_done) / std::fmax(state.train_seconds, 1e-9);
  }
}

void MetricsRecord::after_epoch(LoopState& state) {
  if (log_) log_->add(state.at.epoch, state.at.step, state.run.metrics);
  state.run.metrics.clear();
}

}  // namespace bdc::host
