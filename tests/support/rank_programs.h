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

/// The processes that --processes has started in a folder, by rank.
inline std::vector<pid_t> ranks_in(const TemporaryFolder& folder) {
  std::map<int, pid_t> found;  // by rank
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", error)) {
    const std::string name = entry.path().filename().string();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    if (std::filesystem::read_symlink(entry.path() / "cwd", error) != std::filesystem::canonical(folder.path()))
      continue;
    const std::string all = read_file(entry.path() / "environ");
    const auto at = all.find("BDC_RANK=");
    if (at != std::string::npos) found[std::atoi(all.c_str() + at + 9)] = std::atoi(name.c_str());
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
