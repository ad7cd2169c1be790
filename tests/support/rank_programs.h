#pragma once

#include <unistd.h>

#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "support/run_program.h"

/// bdc-host as several ranks.
namespace bdc::test {

inline std::vector<std::string> with_host(std::vector<std::string> words) {
  words.insert(words.begin(), BDC_HOST);
  return words;
}

inline bool is_installed(const std::string& program) {
  return std::system(("command -v " + program + " > /dev/null 2>&1").c_str()) == 0;
}

/// The value of a variable in a process's environment; "" where it has none.
inline std::string variable_of(const std::string& environment, const std::string& name) {
  const std::string all = std::string(1, '\0') + environment, key = std::string(1, '\0') + name + "=";
  const auto at = all.find(key);
  if (at == std::string::npos) return "";
  const auto from = at + key.size();
  return all.substr(from, all.find('\0', from) - from);
}

/// The ranks that work in a folder, in their order: processes with a number by that name and, where it is given, with
/// another variable of that value.
inline std::vector<pid_t> ranks_in(const TemporaryFolder& folder, const std::string& number = "BDC_RANK",
                                   const std::string& variable = "", const std::string& value = "") {
  std::map<int, pid_t> found;  // by rank
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", error)) {
    const std::string name = entry.path().filename().string();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    if (std::filesystem::read_symlink(entry.path() / "cwd", error) != std::filesystem::canonical(folder.path())) {
      continue;
    }
    const std::string all = read_file(entry.path() / "environ"), rank = variable_of(all, number);
    if (rank.empty() || (!variable.empty() && variable_of(all, variable) != value)) continue;
    found[std::atoi(rank.c_str())] = std::atoi(name.c_str());
  }
  std::vector<pid_t> out;
  for (const auto& [rank, pid] : found) out.push_back(pid);
  return out;
}

/// Ranks, each with its own words, by the variables of torchrun.
inline std::vector<Outcome> by_hand(const TemporaryFolder& folder, const std::vector<std::vector<std::string>>& words,
                                    std::vector<std::vector<std::string>> variables = {}) {
  static int port = 23000 + static_cast<int>(::getpid() % 4000);
  ++port;
  std::vector<std::unique_ptr<RunningProgram>> programs;
  for (std::size_t r = 0; r < words.size(); ++r) {
    std::vector<std::string> environment = {"RANK=" + std::to_string(r), "WORLD_SIZE=" + std::to_string(words.size()),
                                            "LOCAL_RANK=" + std::to_string(r), "MASTER_ADDR=127.0.0.1",
                                            "MASTER_PORT=" + std::to_string(port)};
    if (r < variables.size()) environment.insert(environment.end(), variables[r].begin(), variables[r].end());
    programs.push_back(std::make_unique<RunningProgram>(with_host(words[r]), folder.path(), environment));
  }
  std::vector<Outcome> out;
  for (auto& program : programs) out.push_back(program->wait());
  return out;
}

/// `words` under a launcher.
inline std::vector<std::string> torchrun(int ranks, std::vector<std::string> words,
                                         const std::vector<std::string>& more = {}) {
  static int port = 24000 + static_cast<int>(::getpid() % 3000);
  // Its default for the output, 0, is not understood by LibTorch 1.13 under Python 3.11.
  std::vector<std::string> launcher = {"/usr/bin/python3",
                                       "-m",
                                       "torch.distributed.run",
                                       "--no_python",
                                       "--redirects",
                                       "1",
                                       "--tee",
                                       "1",
                                       "--nproc_per_node",
                                       std::to_string(ranks),
                                       "--master_port",
                                       std::to_string(++port)};
  launcher.insert(launcher.end(), more.begin(), more.end());
  words.insert(words.begin(), launcher.begin(), launcher.end());
  return words;
}

inline std::vector<std::string> mpirun(int ranks, std::vector<std::string> words) {
  words.insert(words.begin(),
               {"mpirun", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "-np", std::to_string(ranks)});
  return words;
}

}  // namespace bdc::test
