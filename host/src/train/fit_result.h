#pragma once

#include <optional>

#include "bdc/core/metrics/coco_eval.h"

namespace bdc::host {

/// How a call of Trainer::fit ended.
struct FitResult {
  bool interrupted = false;
  std::optional<CocoEvalResult> evaluation;  ///< of the last evaluated epoch of this call
};

}  // namespace bdc::host
