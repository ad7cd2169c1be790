#include "files/child_process.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <thread>

#include "bdc/base/user_error.h"

namespace bdc::host {

std::string own_program() {
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) throw UserError(ExitCode::failure, "/proc/self/exe cannot be read: " + error.message());
  return self.string();
}

int run_child(const std::vector<std::string>& words, const std::filesystem::path& log, const std::atomic<bool>& stop,
              const std::function<void()>& look) {
  std::vector<std::string> copy = words;
  std::vector<char*> argv;
  for (auto& word : copy) argv.push_back(word.data());
  argv.push_back(nullptr);
  const int out = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (out < 0) throw UserError(ExitCode::failure, log.string() + ": cannot be written: " + std::strerror(errno));
  const pid_t parent = ::getpid(), child = ::fork();
  if (child < 0) {
    ::close(out);
    throw UserError(ExitCode::failure, std::string("a child process cannot be started: ") + std::strerror(errno));
  }
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (::getppid() != parent) ::_exit(125);  // the parent died before that was set
    ::dup2(out, STDOUT_FILENO);
    ::dup2(out, STDERR_FILENO);
    const int nothing = ::open("/dev/null", O_RDONLY);
    if (nothing >= 0) ::dup2(nothing, STDIN_FILENO);
    ::execvp(argv[0], argv.data());
    ::_exit(127);
  }
  ::close(out);
  bool asked = false;
  for (int round = 1;; ++round) {
    int status = 0;
    const pid_t ended = ::waitpid(child, &status, WNOHANG);
    if (ended == child && WIFEXITED(status)) return WEXITSTATUS(status);
    if (ended == child && WIFSIGNALED(status)) return 128 + WTERMSIG(status);
    if (ended < 0 && errno != EINTR) throw UserError(ExitCode::failure, "a child process was lost");
    if (stop && !asked) {
      ::kill(child, SIGTERM);
      asked = true;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    if (look && round % 10 == 0) look();
  }
}

}  // namespace bdc::host
