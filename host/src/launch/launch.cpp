#include "launch/launch.h"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <vector>

#include "bdc/base/text.h"

namespace bdc::host {
namespace {

constexpr int kMostRanks = 100000;

/// The variables of one launcher, with its name for messages.
class Variables {
 public:
  Variables(std::string launcher, const Environment& all) : launcher_(std::move(launcher)), all_(all) {}

  [[nodiscard]] bool has(const std::string& name) const { return all_.count(name) != 0; }
  [[nodiscard]] std::string text(const std::string& name, const std::string& otherwise = "") const {
    const auto found = all_.find(name);
    return found == all_.end() ? otherwise : found->second;
  }
  [[nodiscard]] int number(const std::string& name, int least, int most) const {
    const std::string value = text(name);
    const bool is_number =
        !value.empty() && value.size() < 10 && value.find_first_not_of("0123456789") == std::string::npos;
    const int out = is_number ? std::stoi(value) : -1;
    if (out < least || out > most) {
      throw fail(name + " is '" + printable(value) + "', expected a number from " + std::to_string(least) + " to " +
                 std::to_string(most));
    }
    return out;
  }
  /// Throws unless all are set: then somebody set some of them by hand.
  void need(const std::vector<std::string>& names) const {
    std::vector<std::string> set, missing;
    for (const auto& name : names) (has(name) ? set : missing).push_back(name);
    if (missing.empty()) return;
    throw fail(join(set) + (set.size() == 1 ? " is" : " are") + " set, but " + join(missing) +
               (missing.size() == 1 ? " is" : " are") + " not\n  advice: start all ranks through " + launcher_ +
               ", or unset them to work in one process");
  }
  [[nodiscard]] UserError fail(const std::string& what) const {
    return {ExitCode::usage, "variables of " + launcher_ + ": " + what};
  }

 private:
  std::string launcher_;
  const Environment& all_;
};

void take_numbers(const Variables& of, const char* rank, const char* size, Launch& out) {
  out.size = of.number(size, 1, kMostRanks);
  out.rank = of.number(rank, 0, kMostRanks);
  if (out.rank >= out.size) {
    throw of.fail(std::string(rank) + " is " + std::to_string(out.rank) + ", but " + size + " is " +
                  std::to_string(out.size) + "; ranks count from 0");
  }
}

/// The place among the ranks of this machine; where only one of the two is told, the other is taken to fit it.
void take_local(const Variables& of, const char* rank, const char* size, Launch& out) {
  if (of.has(rank)) out.local_rank = of.number(rank, 0, kMostRanks);
  if (of.has(size)) out.local_size = of.number(size, 1, kMostRanks);
  out.local_size = std::max(out.local_size, out.local_rank + 1);
}

/// MASTER_ADDR and MASTER_PORT, both or neither.
bool take_address(const Variables& of, Launch& out) {
  if (!of.has("MASTER_ADDR") && !of.has("MASTER_PORT")) return false;
  of.need({"MASTER_ADDR", "MASTER_PORT"});
  out.host = of.text("MASTER_ADDR");
  out.port = of.number("MASTER_PORT", 1, 65535);
  return true;
}

/// A port that follows from the job's name: the same in all of its ranks, another in the next job.
int port_of(const std::string& job) {
  std::uint32_t mix = 2166136261U;
  for (const char c : job) mix = (mix ^ static_cast<unsigned char>(c)) * 16777619U;
  return 20000 + static_cast<int>(mix % 12000U);  // below the ports that systems give to clients
}

std::optional<Launch> ours(const Environment& all) {
  const Variables of("bdc-host --processes", all);
  if (!of.has("BDC_RANK") && !of.has("BDC_RANKS") && !of.has("BDC_PORT")) return {};
  of.need({"BDC_RANK", "BDC_RANKS", "BDC_PORT"});
  Launch out;
  out.launcher = kOwnLauncher;
  take_numbers(of, "BDC_RANK", "BDC_RANKS", out);
  out.local_rank = out.rank;
  out.local_size = out.size;
  out.host = "127.0.0.1";
  out.port = of.number("BDC_PORT", 1, 65535);
  return out;
}

std::optional<Launch> torchrun(const Environment& all) {
  const Variables of("torchrun", all);
  if (!of.has("RANK") && !of.has("WORLD_SIZE") && !of.has("LOCAL_RANK")) return {};
  of.need({"RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT"});
  Launch out;
  out.launcher = "torchrun";
  take_numbers(of, "RANK", "WORLD_SIZE", out);
  take_local(of, "LOCAL_RANK", "LOCAL_WORLD_SIZE", out);
  take_address(of, out);
  out.has_store = lower_case(of.text("TORCHELASTIC_USE_AGENT_STORE")) == "true";
  out.attempt = of.text("TORCHELASTIC_RUN_ID") + "/" + of.text("TORCHELASTIC_RESTART_COUNT");
  out.can_restart = of.has("TORCHELASTIC_RESTART_COUNT");
  if (out.can_restart) out.restarts = of.number("TORCHELASTIC_RESTART_COUNT", 0, kMostRanks);
  out.job = of.text("TORCHELASTIC_RUN_ID");
  if (out.job == "none") out.job.clear();  // nobody has given it a name
  return out;
}

std::optional<Launch> mpirun(const Environment& all) {
  const Variables of("mpirun", all);
  if (!of.has("OMPI_COMM_WORLD_RANK") && !of.has("OMPI_COMM_WORLD_SIZE")) return {};
  of.need({"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"});
  Launch out;
  out.launcher = "mpirun";
  take_numbers(of, "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", out);
  take_local(of, "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE", out);
  if (out.is_alone() || take_address(of, out)) return out;
  if (out.local_size < out.size) {
    throw of.fail(
        "the ranks are on several machines, and no meeting address is set\n  advice: mpirun -x "
        "MASTER_ADDR=<machine of rank 0> -x MASTER_PORT=29500 ...");
  }
  out.host = "127.0.0.1";
  out.port = port_of(of.text("PMIX_NAMESPACE", of.text("OMPI_MCA_ess_base_jobid")));
  return out;
}

std::optional<Launch> srun(const Environment& all) {
  const Variables of("srun", all);
  // A batch script has numbers of tasks as well, but was not started by srun: only a step has an id.
  if (!of.has("SLURM_STEP_ID") && !of.has("SLURM_STEPID")) return {};
  if (!of.has("SLURM_PROCID")) return {};
  const char* tasks = of.has("SLURM_STEP_NUM_TASKS") ? "SLURM_STEP_NUM_TASKS" : "SLURM_NTASKS";
  of.need({"SLURM_PROCID", tasks, "SLURM_LOCALID"});
  Launch out;
  out.launcher = "srun";
  take_numbers(of, "SLURM_PROCID", tasks, out);
  out.local_rank = of.number("SLURM_LOCALID", 0, kMostRanks);
  // "4" on every machine, "2(x3),1" where they differ: the first number is that of the first machine.
  const std::string per_node = of.text("SLURM_STEP_TASKS_PER_NODE", of.text("SLURM_TASKS_PER_NODE"));
  if (!per_node.empty()) out.local_size = std::max(1, std::atoi(per_node.c_str()));
  out.local_size = std::min(out.size, std::max(out.local_size, out.local_rank + 1));
  const std::string step =
      of.text("SLURM_JOB_ID", of.text("SLURM_JOBID")) + "." + of.text("SLURM_STEP_ID", of.text("SLURM_STEPID"));
  out.can_restart = true;  // a job that is requeued keeps its number
  if (of.has("SLURM_RESTART_COUNT")) out.restarts = of.number("SLURM_RESTART_COUNT", 0, kMostRanks);
  out.job = step;
  if (out.is_alone() || take_address(of, out)) return out;
  const std::string nodes = of.text("SLURM_STEP_NODELIST", of.text("SLURM_NODELIST", of.text("SLURM_JOB_NODELIST")));
  out.host = first_host(nodes);
  if (out.host.empty()) {
    throw of.fail("SLURM_NODELIST is '" + printable(nodes) +
                  "', in which no machine to meet on is found\n  advice: set MASTER_ADDR and MASTER_PORT");
  }
  out.port = port_of(step);
  return out;
}

}  // namespace

std::string first_host(const std::string& node_list) {
  const std::string first = node_list.substr(0, node_list.find_first_of("[,"));
  const auto bracket = node_list.find('[');
  if (bracket == std::string::npos || bracket != first.size()) return first;
  const auto close = node_list.find(']', bracket);
  if (close == std::string::npos) return "";
  const std::string inside = node_list.substr(bracket + 1, close - bracket - 1);
  const std::string number = inside.substr(0, inside.find_first_of("-,"));
  const std::string after = node_list.substr(close + 1, node_list.find(',', close) - close - 1);
  return number.empty() ? "" : first + number + after;
}

Launch recognise_launch(const Environment& variables) {
  for (const auto& look : {ours, torchrun, mpirun, srun}) {
    if (const auto found = look(variables)) return *found;
  }
  return {};
}

std::string description_of(const Launch& launch) {
  return std::to_string(launch.size) + " ranks by " + launch.launcher + ", of which " +
         std::to_string(launch.local_size) + " on this machine; they meet at " + launch.host + ":" +
         std::to_string(launch.port) + " and talk through Gloo";
}

Environment environment() {
  Environment out;
  for (char** entry = ::environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const auto sign = text.find('=');
    if (sign != std::string::npos) out[text.substr(0, sign)] = text.substr(sign + 1);
  }
  return out;
}

}  // namespace bdc::host
