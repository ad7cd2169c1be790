#pragma once

#include <bdc/plugin/hook.h>

#include <cstdint>
#include <memory>
#include <string>

#include "bdc/metrics/coco_eval.h"
#include "engine/checkpoint.h"
#include "engine/stage_clock.h"

namespace bdc::host {

/// Where the training loop stands and what it does right now. The loop keeps it; observers read it, and add to the
/// metrics.
struct LoopState {
  RunPosition at;
  plugin::RunContext run;            ///< what hooks see; run.metrics becomes the epoch's record
  std::string stage = "before_fit";  ///< named when something throws
  StageClock clock;
  // Of the epoch at hand, since it was begun or resumed.
  std::int64_t first_position = 0, images_done = 0;
  double started = 0;                                ///< now_seconds()
  double train_seconds = 0;                          ///< set when its steps are done
  std::shared_ptr<const CocoEvalResult> evaluation;  ///< of the epoch at hand; null: not (yet) measured

  /// Whether this process writes files: one of those that train together does.
  [[nodiscard]] bool is_writer() const { return run.rank == 0; }
};

}  // namespace bdc::host
