#pragma once

#include <string>
#include <vector>

#include "engine/observers/loss_meter.h"
#include "engine/observers/observer.h"
#include "engine/train_settings.h"
#include "show/progress.h"

namespace bdc::host {

/// The live line after every batch, and one line that stays for every epoch.
class ProgressLine : public Observer {
 public:
  /// hooks: names of those whose consensus may have an AP in the metrics. The rest is borrowed; `losses` must stand
  /// before this observer in the list.
  ProgressLine(Progress& progress, const TrainSettings& settings, const LossMeter& losses,
               std::vector<std::string> hooks);

  void after_batch(LoopState& state, const plugin::LossTerms& terms) override;
  void after_epoch(LoopState& state) override;

 private:
  Progress& progress_;
  const TrainSettings& settings_;
  const LossMeter& losses_;
  std::vector<std::string> hooks_;
};

}  // namespace bdc::host
