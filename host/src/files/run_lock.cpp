#include "files/run_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <string>
#include <thread>

#include "bdc/base/user_error.h"

namespace bdc::host {
namespace {

/// " (pid 123)", or "" when the file does not say.
std::string holder_text(int file) {
  char text[32] = {};
  const ssize_t size = ::pread(file, text, sizeof(text), 0);
  const std::string pid(text, size > 0 ? static_cast<std::size_t>(size) : 0);
  const std::string digits = pid.substr(0, pid.find('\n'));
  if (digits.empty() || digits.find_first_not_of("0123456789") != std::string::npos) return "";
  return " (pid " + digits + ")";
}

/// Tries for a few seconds: a process that was asked to stop finishes its step and saves before it ends. Otherwise
/// false, with errno.
bool take(int file) {
  constexpr int kTries = 100;
  for (int n = 1;; ++n) {
    if (::flock(file, LOCK_EX | LOCK_NB) == 0) return true;
    if (errno != EWOULDBLOCK || n == kTries) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
}

/// For the message to others only: that it cannot be written, on a full disk, does not matter.
void write_own_pid(int file) {
  const std::string pid = std::to_string(::getpid()) + "\n";
  if (::ftruncate(file, 0) != 0) return;
  if (::pwrite(file, pid.data(), pid.size(), 0) < 0) return;
}

}  // namespace

RunLock::RunLock(const std::filesystem::path& folder, const Words& words)
    : file_(::open((folder / "lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666)) {
  if (file_ < 0) {
    throw UserError(ExitCode::failure, (folder / "lock").string() + ": cannot be written: " + std::strerror(errno));
  }
  if (take(file_)) {
    write_own_pid(file_);
  } else if (errno == EWOULDBLOCK) {
    const std::string holder = holder_text(file_);
    ::close(file_);
    throw UserError(ExitCode::usage, folder.string() + ": this " + words.what + " is still running in another process" +
                                         holder + "\n  advice: " + words.advice);
  }
}

RunLock::~RunLock() {
  ::close(file_);
}

}  // namespace bdc::host
