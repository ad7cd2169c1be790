#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "doctor/checks.h"

namespace bdc::host {

struct Diagnosis {
  std::vector<CheckResult> checks;  ///< one per doctor_checks(), in order
  [[nodiscard]] bool healthy() const;
  /// 0; or what the first failed check says: 5, 6 or 7 for loading and building, 7 for a crash, otherwise 1.
  [[nodiscard]] int exit_code() const;
};

/// Runs all checks on a plugin file in a child process, so that a crash of the plugin is a finding and not the end of
/// this program. A child that is not done after `timeout_seconds` is killed; that is a finding too.
[[nodiscard]] Diagnosis examine(const std::filesystem::path& file, const Json& options, double timeout_seconds);

/// What the child does: runs the checks, writes JSON lines to file descriptor `fd`, and ends the process.
[[noreturn]] void examine_in_child(const std::filesystem::path& file, const std::string& options, int fd);

/// The word on the command line that starts the child.
inline constexpr const char* kDoctorChild = "__doctor";

}  // namespace bdc::host
