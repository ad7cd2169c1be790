#pragma once

#include <map>
#include <string>
#include <utility>

#include "bdc/base/now_seconds.h"

namespace bdc::host {

/// Where the time of an epoch goes: seconds per stage, every moment in one of them.
class StageClock {
 public:
  /// Ends the stage that was running and begins another.
  void begin(const std::string& stage) {
    const double now = now_seconds();
    if (!running_.empty()) seconds_[running_] += now - since_;
    running_ = stage;
    since_ = now;
  }
  /// Ends the running stage and hands out the seconds of all since the last call.
  [[nodiscard]] std::map<std::string, double> take() {
    begin("");
    return std::exchange(seconds_, {});
  }

 private:
  std::map<std::string, double> seconds_;
  std::string running_;
  double since_ = 0;
};

}  // namespace bdc::host
