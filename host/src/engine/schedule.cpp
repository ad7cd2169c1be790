#include "engine/schedule.h"

#include <cmath>

namespace bdc::host {

double LearningRate::at(std::int64_t step, std::int64_t total) const {
  const double warm =
      warmup_steps > 0 ? std::fmin(1.0, static_cast<double>(step + 1) / static_cast<double>(warmup_steps)) : 1.0;
  const double done = total > 1 ? std::fmin(1.0, static_cast<double>(step) / static_cast<double>(total - 1)) : 0.0;
  double share = 1;
  if (schedule == "cosine") {
    share = final_share + (1 - final_share) * 0.5 * (1 + std::cos(3.141592653589793 * done));
  } else if (schedule == "linear") {
    share = 1 - (1 - final_share) * done;
  } else if (schedule == "step") {
    share = done < 2.0 / 3 ? 1.0 : (done < 8.0 / 9 ? step_share : step_share * step_share);
  }
  return start * warm * share;
}

}  // namespace bdc::host
