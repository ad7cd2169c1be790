#pragma once

#include <chrono>

namespace bdc {

/// Seconds since some fixed moment, by a clock that is never set back.
[[nodiscard]] inline double now_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace bdc
