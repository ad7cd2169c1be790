#pragma once

#include <filesystem>
#include <string>

namespace bdc::host {

/// Keeps a run folder to one process: holds an advisory lock (flock) on the file `lock` in it, which also has the
/// process id. The system lets go of it when the process ends, however that happens; the file stays. Where the file
/// system knows no locks, nothing is held.
class RunLock {
 public:
  /// What is locked and what to do about it, for the message.
  struct Words {
    std::string what = "run";
    std::string advice = "wait for it to finish, or stop it (Ctrl-C or SIGTERM saves a checkpoint) and then --resume";
  };
  /// Throws UserError: exit 2 when another process holds it and does not end within five seconds, exit 1 when the file
  /// cannot be made.
  explicit RunLock(const std::filesystem::path& folder) : RunLock(folder, Words{}) {}
  RunLock(const std::filesystem::path& folder, const Words& words);
  ~RunLock();
  RunLock(const RunLock&) = delete;
  RunLock& operator=(const RunLock&) = delete;

 private:
  int file_;
};

}  // namespace bdc::host
