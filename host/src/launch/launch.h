#pragma once

#include <map>
#include <string>

#include "bdc/base/user_error.h"

namespace bdc::host {

/// Which of the processes that work together this one is, and where they meet.
struct Launch {
  std::string launcher;                ///< "torchrun", "mpirun", "srun" or "--processes"; empty: one process on its own
  int rank = 0, size = 1;              ///< this process among all
  int local_rank = 0, local_size = 1;  ///< and among those of this machine
  std::string host;                    ///< of rank 0, where all meet
  int port = 0;
  bool has_store = false;    ///< the launcher itself keeps the meeting place: no rank opens the port
  std::string attempt;       ///< tells restarts apart that use the same meeting place
  bool can_restart = false;  ///< the launcher starts the ranks anew when one fails, and says so
  int restarts = 0;          ///< how often it has
  std::string job;           ///< what all attempts have in common; empty: only the process that starts them

  [[nodiscard]] bool is_alone() const { return size == 1; }
};

/// The launcher of ranks that run_local_ranks (local_ranks.h) has started.
inline constexpr const char* kOwnLauncher = "--processes";

using Environment = std::map<std::string, std::string>;

/// What the launcher says through these variables. Our own (bdc-host train --processes) come first, then torchrun's,
/// then those of Open MPI's mpirun, then Slurm's srun; without any the process is alone. Throws UserError (exit 2) for
/// variables that are half set, are not numbers or do not fit together, and where ranks on several machines have not
/// been told where to meet.
[[nodiscard]] Launch recognise_launch(const Environment& variables);

/// Who started how many ranks and where they meet, as a line for the user.
[[nodiscard]] std::string description_of(const Launch& launch);

/// The variables of this process.
[[nodiscard]] Environment environment();

/// The first machine of Slurm's short form: "node03" of "node[03-05,9],login". Empty for text that is not one.
[[nodiscard]] std::string first_host(const std::string& node_list);

}  // namespace bdc::host
