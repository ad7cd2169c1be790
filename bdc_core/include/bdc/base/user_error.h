#pragma once

#include <stdexcept>
#include <string>

namespace bdc {

/// The program's exit codes (docs/exit-codes.md).
enum class ExitCode : int {
  ok = 0,
  failure = 1,
  usage = 2,
  config = 3,
  data = 4,
  plugin_not_found = 5,
  abi_mismatch = 6,
  plugin_threw = 7,
  device = 8,
  non_finite = 9,
  ranks_apart = 10,  ///< processes that train together do not: one is gone, or they differ
  interrupted = 130,
};

/// Something the user can fix. The message says what was expected, what was found, where, and what to do.
class UserError : public std::runtime_error {
 public:
  UserError(ExitCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  [[nodiscard]] ExitCode code() const { return code_; }

 private:
  ExitCode code_;
};

}  // namespace bdc
