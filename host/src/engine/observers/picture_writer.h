#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "engine/observers/metrics_record.h"
#include "engine/observers/observer.h"
#include "show/progress.h"

namespace bdc::host {

/// Draws the first batch of about five epochs of a run with its targets, and after every epoch the learning curve and,
/// where AP was measured, precision over recall. A picture that cannot be written (a full disk) is a warning, told
/// once.
class PictureWriter : public Observer {
 public:
  /// `record` and `progress` are borrowed; `record` must stand before this observer in the list.
  PictureWriter(std::filesystem::path folder, std::vector<std::string> class_names, const MetricsRecord& record,
                Progress& progress);

  void before_fit(LoopState& state) override;
  void before_loss(LoopState& state, const Batch& batch) override;
  void after_epoch(LoopState& state) override;

 private:
  void attempt(const std::function<void()>& draw);

  std::filesystem::path folder_;
  std::vector<std::string> class_names_;
  const MetricsRecord& record_;
  Progress& progress_;
  bool has_warned_ = false;
};

}  // namespace bdc::host
