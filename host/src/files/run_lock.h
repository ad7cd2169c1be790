#pragma once

#include <filesystem>

namespace bdc::host {

/// Keeps a run folder to one process: holds an advisory lock (flock) on the file `lock` in it, which also has the
/// process id. The system lets go of it when the process ends, however that happens; the file stays. Where the file
/// system knows no locks, nothing is held.
class RunLock {
 public:
  /// Throws UserError: exit 2 when another process holds it and does not end within five seconds, exit 1 when the file
  /// cannot be made.
  explicit RunLock(const std::filesystem::path& folder);
  ~RunLock();
  RunLock(const RunLock&) = delete;
  RunLock& operator=(const RunLock&) = delete;

 private:
  int file_;
};

}  // namespace bdc::host
