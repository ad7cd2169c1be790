#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "launch/launch.h"

namespace bdc::host {

/// Named values that all ranks of a launch see: c10d's TCPStore, kept by rank 0 or by the launcher. All calls throw
/// std::exception when the place cannot be reached.
class MeetingPlace {
 public:
  virtual ~MeetingPlace() = default;
  virtual void set(const std::string& key, const std::string& value) = 0;
  /// "" where nothing was set.
  [[nodiscard]] virtual std::string get(const std::string& key) = 0;
  /// How often this was called for `key` by any rank, this call included.
  [[nodiscard]] virtual std::int64_t count(const std::string& key) = 0;
};

}  // namespace bdc::host
