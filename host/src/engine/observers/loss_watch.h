#pragma once

#include <vector>

#include "engine/observers/metrics_record.h"
#include "engine/observers/observer.h"
#include "files/json_file.h"
#include "show/progress.h"

namespace bdc::host {

/// Whether training has begun to run away in the newest of a run's records (MetricsLog): its mean loss is above the
/// first epoch's and ten times the lowest one's, and the epoch before was not so yet. False where losses are missing.
[[nodiscard]] bool has_run_away(const std::vector<Json>& records);

/// Warns when the loss has run away.
class LossWatch : public Observer {
 public:
  /// Both are borrowed; `record` must stand before this observer in the list.
  LossWatch(const MetricsRecord& record, Progress& progress) : record_(record), progress_(progress) {}

  void after_epoch(LoopState& state) override;

 private:
  const MetricsRecord& record_;
  Progress& progress_;
};

}  // namespace bdc::host
