#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace bdc::host {

/// Path of this very program.
[[nodiscard]] std::string own_program();

/// Runs a program to its end and returns its exit code (128 + the number of a signal that ended it). Standard output
/// and error are appended to `log`. When `stop` becomes true, the child is asked to stop (SIGTERM) and waited for; when
/// this process dies, the child is asked to stop as well. While it runs, `look` is called about twice a second. Throws
/// UserError (exit 1) when it cannot be started.
int run_child(const std::vector<std::string>& words, const std::filesystem::path& log, const std::atomic<bool>& stop,
              const std::function<void()>& look = {});

}  // namespace bdc::host
