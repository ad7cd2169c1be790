#pragma once

#include <cstdint>
#include <optional>

#include "bdc/metrics/coco_eval.h"

namespace bdc::host {

/// How a call of Trainer::fit ended.
struct TrainResult {
  bool interrupted = false;
  bool was_finished = false;                 ///< there was nothing left to train
  bool stopped_early = false;                ///< because AP had not risen for train.patience epochs
  double best_ap = -1;                       ///< on the test images; -1: never evaluated
  std::int64_t best_epoch = 0;               ///< counted from 1
  std::optional<CocoEvalResult> evaluation;  ///< of the last evaluated epoch of this call
};

}  // namespace bdc::host
