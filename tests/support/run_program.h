#pragma once

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <string>
#include <vector>

#include "support/temporary_folder.h"

namespace bdc::test {

struct Outcome {
  int exit_code = -1;
  int signal = 0;  ///< the signal that ended it, or 0
  std::string out, err;
};

/// A program that was started; its output goes to files.
class RunningProgram {
 public:
  /// Starts `words` in `folder`. The environment is this one's plus `environment` ("NAME=value").
  RunningProgram(const std::vector<std::string>& words, const std::filesystem::path& folder,
                 const std::vector<std::string>& environment = {}) {
    pid_ = ::fork();
    if (pid_ == 0) {
      const auto redirect = [&](const char* name, int fd) {
        ::dup2(::open((output_.path() / name).c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), fd);
      };
      redirect("out", STDOUT_FILENO);
      redirect("err", STDERR_FILENO);
      ::dup2(::open("/dev/null", O_RDONLY), STDIN_FILENO);
      if (::chdir(folder.c_str()) != 0) ::_exit(126);
      std::vector<std::string> kept = environment;
      for (auto& entry : kept) ::putenv(entry.data());
      std::vector<std::string> copy = words;
      std::vector<char*> argv;
      for (auto& word : copy) argv.push_back(word.data());
      argv.push_back(nullptr);
      ::execvp(argv[0], argv.data());
      ::_exit(127);
    }
  }
  void send(int signal) const { ::kill(pid_, signal); }
  [[nodiscard]] std::string err_so_far() const { return read_file(output_.path() / "err"); }
  Outcome wait() {
    int status = 0;
    ::waitpid(pid_, &status, 0);
    Outcome outcome;
    if (WIFEXITED(status)) outcome.exit_code = WEXITSTATUS(status);
    if (WIFSIGNALED(status)) outcome.signal = WTERMSIG(status);
    outcome.out = read_file(output_.path() / "out");
    outcome.err = read_file(output_.path() / "err");
    return outcome;
  }

 private:
  TemporaryFolder output_;
  pid_t pid_ = -1;
};

inline Outcome run(const std::vector<std::string>& words, const std::filesystem::path& folder,
                   const std::vector<std::string>& environment = {}) {
  return RunningProgram(words, folder, environment).wait();
}

/// bdc-host of this build, in `folder`.
inline Outcome run_host(std::vector<std::string> words, const std::filesystem::path& folder,
                        const std::vector<std::string>& environment = {}) {
  words.insert(words.begin(), BDC_HOST);
  return run(words, folder, environment);
}

}  // namespace bdc::test
