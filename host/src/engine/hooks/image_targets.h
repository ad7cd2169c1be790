#pragma once

#include <map>
#include <utility>
#include <vector>

#include "bdc/base/state_bytes.h"
#include "bdc/crowd/targets.h"

namespace bdc::host {

/// The last targets of every image, put together for a report.
class LatestTargets {
 public:
  void set(std::size_t image, Targets targets) { of_[image] = std::move(targets); }
  [[nodiscard]] bool is_complete(std::size_t images) const { return of_.size() == images; }
  [[nodiscard]] Targets all() const;

  /// So that a run that was interrupted within an epoch reports what it would have reported.
  void save(StateWriter& state) const;
  void load(StateReader& state);
  /// Takes over the images of another one; where both have an image, the other's targets are taken.
  void merge(LatestTargets other);
  void clear() { of_.clear(); }

 private:
  std::map<std::size_t, Targets> of_;
};

}  // namespace bdc::host
