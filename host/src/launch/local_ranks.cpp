#include "launch/local_ranks.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>
#include <thread>

#include "bdc/base/now_seconds.h"
#include "bdc/base/parallel.h"
#include "bdc/base/user_error.h"
#include "files/child_process.h"

namespace bdc::host {
namespace {

constexpr double kGrace = 10;  ///< seconds in which ranks may notice that another one failed
constexpr int kForwarded[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1};

std::atomic<int> received[65];  ///< signals that were not passed on yet, by number

extern "C" void note_signal(int number) {
  ++received[number];
}

/// Words of this process's command line.
std::vector<std::string> own_words() {
  std::ifstream in("/proc/self/cmdline", std::ios::binary);
  const std::string all{std::istreambuf_iterator<char>(in), {}};
  std::vector<std::string> out;
  for (std::size_t from = 0; from < all.size();) {
    const auto to = all.find('\0', from);
    out.push_back(all.substr(from, to - from));
    from = to == std::string::npos ? all.size() : to + 1;
  }
  return out;
}

struct Rank {
  pid_t process = -1;
  bool has_ended = false;
};

pid_t start(int rank, int count, int port, int threads) {
  std::vector<std::string> words = own_words();
  std::vector<char*> argv;
  for (auto& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  const std::string program = own_program();
  const pid_t parent = ::getpid(), child = ::fork();
  if (child < 0) {
    throw UserError(ExitCode::failure, std::string("a rank cannot be started: ") + std::strerror(errno));
  }
  if (child > 0) return child;
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != parent) ::_exit(125);  // the parent died before that was set
  ::setpgid(0, 0);                          // a terminal's Ctrl-C comes through the parent, once
  for (const int number : kForwarded) std::signal(number, SIG_DFL);
  ::setenv("BDC_RANK", std::to_string(rank).c_str(), 1);
  ::setenv("BDC_RANKS", std::to_string(count).c_str(), 1);
  ::setenv("BDC_PORT", std::to_string(port).c_str(), 1);
  ::setenv("OPENBLAS_NUM_THREADS", std::to_string(threads).c_str(), 0);  // it takes all cores otherwise
  const int nothing = ::open("/dev/null", O_RDONLY);
  if (nothing >= 0) ::dup2(nothing, STDIN_FILENO);
  ::execv(program.c_str(), argv.data());
  ::_exit(127);
}

void send_all(const std::vector<Rank>& ranks, int number) {
  for (const Rank& rank : ranks) {
    if (!rank.has_ended) ::kill(rank.process, number);
  }
}

}  // namespace

int free_port() {
  const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  const bool is_bound = listener >= 0 && ::bind(listener, reinterpret_cast<sockaddr*>(&address), size) == 0 &&
                        ::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size) == 0;
  const int error = errno;
  if (listener >= 0) ::close(listener);
  if (!is_bound) throw UserError(ExitCode::failure, std::string("no free TCP port: ") + std::strerror(error));
  return ntohs(address.sin_port);
}

int run_local_ranks(int count, int threads) {
  if (threads == 0) threads = std::max(1, default_threads() / count);
  for (const int number : kForwarded) {
    struct sigaction action {};
    action.sa_handler = note_signal;
    action.sa_flags = SA_RESTART;
    sigaction(number, &action, nullptr);
  }
  const int port = free_port();
  std::vector<Rank> ranks(static_cast<std::size_t>(count));
  int left = 0, code = 0;
  double give_up_at = 0;
  const auto failed = [&](std::size_t rank, int its_code, const std::string& how) {
    if (!how.empty()) std::cerr << "bdc-host: rank " + std::to_string(rank) + " " + how + "\n" << std::flush;
    if (code == 0) give_up_at = now_seconds() + kGrace;
    if (code == 0) code = its_code;
  };
  try {
    for (int r = 0; r < count; ++r, ++left) ranks[static_cast<std::size_t>(r)].process = start(r, count, port, threads);
  } catch (const UserError&) {
    ranks.resize(static_cast<std::size_t>(left));
    send_all(ranks, SIGKILL);
    while (left-- > 0) ::wait(nullptr);
    throw;
  }
  while (left > 0) {
    for (const int number : kForwarded) {
      while (received[number] > 0) {
        --received[number];
        send_all(ranks, number);
      }
    }
    for (std::size_t r = 0; r < ranks.size(); ++r) {
      int status = 0;
      if (ranks[r].has_ended || ::waitpid(ranks[r].process, &status, WNOHANG) != ranks[r].process) continue;
      ranks[r].has_ended = true;
      --left;
      if (WIFSIGNALED(status)) {
        const bool is_ours = give_up_at > 0 && WTERMSIG(status) == SIGKILL && now_seconds() >= give_up_at;
        failed(r, 128 + WTERMSIG(status), is_ours ? "" : "was ended by signal " + std::to_string(WTERMSIG(status)));
      } else if (WEXITSTATUS(status) != 0) {
        failed(r, WEXITSTATUS(status), "");  // it has said why
      }
    }
    if (code != 0 && left > 0 && now_seconds() >= give_up_at) send_all(ranks, SIGKILL);
    if (left > 0) std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return code;
}

}  // namespace bdc::host
