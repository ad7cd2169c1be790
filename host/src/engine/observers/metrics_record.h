#pragma once

#include <filesystem>
#include <optional>

#include "engine/observers/observer.h"
#include "engine/train_settings.h"
#include "files/metrics_log.h"

namespace bdc::host {

/// Writes the metrics of each epoch as one record of the run's log and clears them. Adds the learning rate of the last
/// step and the speed.
class MetricsRecord : public Observer {
 public:
  MetricsRecord(std::filesystem::path folder, const TrainSettings& settings);

  void before_fit(LoopState& state) override;
  void after_steps(LoopState& state) override;
  void after_epoch(LoopState& state) override;

  [[nodiscard]] const std::vector<Json>& records() const { return log_->records(); }

 private:
  std::filesystem::path folder_;
  const TrainSettings& settings_;
  std::optional<MetricsLog> log_;  ///< since before_fit, where this process writes
};

}  // namespace bdc::host
