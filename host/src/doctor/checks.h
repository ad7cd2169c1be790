#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "plugins/doctor.h"

namespace bdc::host {

/// One law of the plugin contract.
struct CheckInfo {
  const char* name;
  const char* law;
};

/// All checks in the order they run.
[[nodiscard]] const std::vector<CheckInfo>& doctor_checks();

/// Runs the checks on a plugin file in this process, with the plugin's options as given and its defaults otherwise.
/// Calls `starting` before each and `finished` after. A check whose ground was lost by an earlier failure is reported
/// as not run.
void run_checks(const std::filesystem::path& file, const Json& options,
                const std::function<void(const std::string&)>& starting,
                const std::function<void(const CheckResult&)>& finished);

/// What the doctor's child process does: lists the checks, runs them, writes JSON lines to file descriptor `fd`, and
/// ends the process.
[[noreturn]] void examine_in_child(const std::filesystem::path& file, const std::string& options, int fd);

}  // namespace bdc::host
