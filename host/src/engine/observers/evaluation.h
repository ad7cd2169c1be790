#pragma once

#include "data/dataset.h"
#include "engine/detector_handle.h"
#include "engine/ema.h"
#include "engine/observers/observer.h"
#include "engine/train_settings.h"
#include "ranks/communicator.h"
#include "show/progress.h"

namespace bdc::host {

/// Judges the detector, with the mean weights where they are kept, on the test images: every evaluate_every epochs and
/// in the last one, where there are true boxes to judge by. Fills LoopState::evaluation and the metrics "test/AP",
/// "test/AP50" and "test/AP75".
class Evaluation : public Observer {
 public:
  /// Everything is borrowed.
  Evaluation(DetectorHandle& detector, Ema& ema, const Dataset& test, const TrainSettings& settings, Progress& progress,
             Communicator& ranks = Communicator::alone());

  void after_steps(LoopState& state) override;

  /// The last one of this call of fit; null: none.
  [[nodiscard]] const std::shared_ptr<const CocoEvalResult>& latest() const { return latest_; }

 private:
  DetectorHandle& detector_;
  Ema& ema_;
  const Dataset& test_;
  const TrainSettings& settings_;
  Progress& progress_;
  Communicator& ranks_;
  bool has_truth_;
  std::shared_ptr<const CocoEvalResult> latest_;
};

}  // namespace bdc::host
