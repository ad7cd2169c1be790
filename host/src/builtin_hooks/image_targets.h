#pragma once

#include <map>
#include <utility>
#include <vector>

#include "bdc/core/online_bdc.h"
#include "bdc/core/predictions.h"
#include "bdc/core/targets.h"

namespace bdc::host {

/// A view of one image's predictions.
[[nodiscard]] DetectedBoxes of_image(const Predictions& predictions, std::size_t image);

/// The last targets of every image, put together for a report.
class LatestTargets {
 public:
  void set(std::size_t image, Targets targets) { of_[image] = std::move(targets); }
  [[nodiscard]] bool is_complete(std::size_t images) const { return of_.size() == images; }
  [[nodiscard]] Targets all() const;

 private:
  std::map<std::size_t, Targets> of_;
};

}  // namespace bdc::host
