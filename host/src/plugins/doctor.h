#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "files/json_file.h"

namespace bdc::host {

/// A law of the plugin contract and what became of checking it. exit_code: what the doctor's exit code should be
/// because of it.
struct CheckResult {
  std::string name, law;
  enum class Status {
    passed,
    failed,
    not_run,
    told  ///< allowed, but its author should know
  } status = Status::not_run;
  std::string reason;
  int exit_code = 0;
};

struct Diagnosis {
  std::vector<CheckResult> checks;  ///< in the order they run
  [[nodiscard]] bool healthy() const;
  /// 0; or what the first failed check says: 5, 6 or 7 for loading and building, 7 for a crash, otherwise 1.
  [[nodiscard]] int exit_code() const;
};

/// Runs all checks on a plugin file in a child process, so that a crash of the plugin is a finding and not the end of
/// this program. A child that is not done after `timeout_seconds` is killed; that is a finding too.
[[nodiscard]] Diagnosis examine(const std::filesystem::path& file, const Json& options, double timeout_seconds);

/// The word on the command line that starts the child.
inline constexpr const char* kDoctorChild = "__doctor";

}  // namespace bdc::host
