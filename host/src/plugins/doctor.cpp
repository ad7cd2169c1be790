#include "plugins/doctor.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <thread>

#include "bdc/base/now_seconds.h"
#include "bdc/base/user_error.h"

namespace bdc::host {
namespace {

using Status = CheckResult::Status;

struct Child {
  pid_t pid;
  int output;
};

Child start_child(const std::filesystem::path& file, const Json& options) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0)
    throw UserError(ExitCode::failure, std::string("cannot create a pipe: ") + std::strerror(errno));
  const std::string path = std::filesystem::absolute(file).string(), text = options.dump(),
                    fd = std::to_string(ends[1]);
  const pid_t pid = ::fork();
  if (pid < 0) throw UserError(ExitCode::failure, std::string("cannot start a child process: ") + std::strerror(errno));
  if (pid == 0) {
    ::fcntl(ends[1], F_SETFD, 0);  // keep the writing end open over exec
    const int null = ::open("/dev/null", O_WRONLY);
    if (null >= 0) {
      ::dup2(null, STDOUT_FILENO);
      ::dup2(null, STDERR_FILENO);
    }
    ::execl("/proc/self/exe", "bdc-host", kDoctorChild, path.c_str(), text.c_str(), fd.c_str(),
            static_cast<char*>(nullptr));
    _exit(127);
  }
  ::close(ends[1]);
  return {pid, ends[0]};
}

/// Waits for a child to end. Returns false when time was up.
bool wait_for(pid_t pid, double until, int& status) {
  for (;;) {
    const pid_t ended = ::waitpid(pid, &status, WNOHANG);
    if (ended == pid || (ended < 0 && errno != EINTR)) return true;
    if (now_seconds() >= until) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

/// Everything the child writes until it ends or time is up. Returns false when time was up.
bool read_all(int fd, double until, std::string& into) {
  char buffer[4096];
  for (;;) {
    const double left = until - now_seconds();
    if (left <= 0) return false;
    pollfd waiting{fd, POLLIN, 0};
    const int ready = ::poll(&waiting, 1, static_cast<int>(std::min(left, 3600.0) * 1000) + 1);
    if (ready < 0 && errno != EINTR) return true;
    if (ready <= 0) continue;
    const ssize_t n = ::read(fd, buffer, sizeof(buffer));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return true;
    into.append(buffer, static_cast<std::size_t>(n));
    if (into.size() > (1u << 20)) return true;
  }
}

/// How the child ended when it did not get to the end of its checks.
std::string last_words(bool in_time, double timeout_seconds, int status) {
  if (!in_time) return "did not finish within " + std::to_string(static_cast<int>(timeout_seconds)) + " s";
  if (WIFSIGNALED(status)) {
    return "crashed: signal " + std::to_string(WTERMSIG(status)) + " (" + ::strsignal(WTERMSIG(status)) + ")";
  }
  return "ended the process without an error message (exit code " + std::to_string(WEXITSTATUS(status)) + ")";
}

}  // namespace

bool Diagnosis::healthy() const {
  return std::all_of(checks.begin(), checks.end(),
                     [](const CheckResult& c) { return c.status == Status::passed || c.status == Status::told; });
}

int Diagnosis::exit_code() const {
  for (const auto& c : checks) {
    if (c.status == Status::failed) return c.exit_code ? c.exit_code : 1;
  }
  return healthy() ? 0 : 1;
}

Diagnosis examine(const std::filesystem::path& file, const Json& options, double timeout_seconds) {
  const Child child = start_child(file, options);
  std::string output;
  const double until = now_seconds() + timeout_seconds;
  bool in_time = read_all(child.output, until, output);
  ::close(child.output);
  int status = 0;
  in_time = in_time && wait_for(child.pid, until, status);  // it may have closed the pipe and gone on
  if (!in_time) {
    ::kill(child.pid, SIGKILL);
    while (::waitpid(child.pid, &status, 0) < 0 && errno == EINTR) {
    }
  }

  Diagnosis diagnosis;
  auto& all = diagnosis.checks;
  const auto find = [&](const std::string& name) {
    return std::find_if(all.begin(), all.end(), [&](const CheckResult& c) { return c.name == name; });
  };
  std::string running;
  bool ended = false;
  for (std::size_t from = 0, end; (end = output.find('\n', from)) != std::string::npos; from = end + 1) {
    const Json line = Json::parse(output.substr(from, end - from), nullptr, false);
    if (!line.is_object()) continue;
    if (line.contains("check")) {
      all.push_back({line.value("check", ""), line.value("law", ""), Status::not_run, "not reached", 0});
    }
    if (line.contains("start")) running = line.value("start", "");
    if (line.contains("end")) ended = true;
    const auto check = line.contains("done") ? find(line.value("done", "")) : all.end();
    if (check == all.end()) continue;
    const int state = line.value("status", 2);
    *check = {check->name, check->law,
              state == 0   ? Status::passed
              : state == 1 ? Status::failed
              : state == 3 ? Status::told
                           : Status::not_run,
              line.value("reason", ""), line.value("exit_code", 0)};
    running.clear();
  }
  if (!ended) {
    if (all.empty()) all.push_back({"starts", "the doctor's own process", Status::not_run, "", 0});
    auto blamed = running.empty() ? all.end() : find(running);
    if (blamed == all.end()) {  // between two checks: the first that is not done
      blamed = std::find_if(all.begin(), all.end(), [](const CheckResult& c) { return c.status == Status::not_run; });
    }
    if (blamed == all.end()) blamed = all.end() - 1;
    *blamed = {blamed->name, blamed->law, Status::failed, last_words(in_time, timeout_seconds, status),
               static_cast<int>(ExitCode::plugin_threw)};
  }
  return diagnosis;
}

}  // namespace bdc::host
