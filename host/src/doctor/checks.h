#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "config/json_file.h"

namespace bdc::host {

/// One law of the plugin contract, as `plugins doctor` checks it.
struct CheckInfo {
  const char* name;
  const char* law;
};

/// All checks in the order they run.
[[nodiscard]] const std::vector<CheckInfo>& doctor_checks();

/// What becomes of a check. exit_code: what the doctor's exit code should be because of it.
struct CheckResult {
  std::string name;
  enum class Status { passed, failed, not_run } status = Status::not_run;
  std::string reason;
  int exit_code = 0;
};

/// Runs the checks on a plugin file in this process, with the plugin's options as given and its defaults otherwise.
/// Calls `starting` before each and `finished` after. A check whose ground was lost by an earlier failure is reported
/// as not run.
void run_checks(const std::filesystem::path& file, const Json& options,
                const std::function<void(const std::string&)>& starting,
                const std::function<void(const CheckResult&)>& finished);

}  // namespace bdc::host
