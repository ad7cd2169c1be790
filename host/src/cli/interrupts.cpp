#include "cli/interrupts.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <string_view>
#include <thread>

#include "bdc/base/atomic_file.h"
#include "bdc/base/user_error.h"
#include "cli/open_engine.h"

namespace bdc::host {
namespace {

int wake_up[2] = {-1, -1};  ///< from the handler to the thread that may do more than a handler may

extern "C" void pass_on(int) {
  const int before = errno;
  [[maybe_unused]] const auto written = ::write(wake_up[1], "", 1);
  errno = before;
}

void wait_and_end() {
  char byte = 0;
  while (::read(wake_up[0], &byte, 1) != 1) {
    if (errno != EINTR) return;
  }
  remove_unfinished_outputs();
  if (Engine* engine = engine_if_open()) engine->remove_unfinished_outputs();
  constexpr std::string_view text = "\nbdc-host: interrupted; no half-written file is left\n";
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, text.data(), text.size());
  ::_exit(static_cast<int>(ExitCode::interrupted));
}

}  // namespace

void end_cleanly_on_interrupt() {
  if (::pipe2(wake_up, O_CLOEXEC) != 0) return;
  std::thread(wait_and_end).detach();
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction present {};
    if (sigaction(number, nullptr, &present) != 0 || present.sa_handler != SIG_DFL) continue;  // nohup, background
    struct sigaction action {};
    action.sa_handler = pass_on;
    action.sa_flags = SA_RESTART;
    sigaction(number, &action, nullptr);
  }
}

}  // namespace bdc::host
