#pragma once

#include <memory>

#include "cli/command.h"
#include "launch/launch.h"
#include "ranks/communicator.h"

namespace bdc::host {

/// --processes, the same in every verb that several processes can share.
void add_processes_option(Command& verb, int& processes);

/// Who started this process. Throws UserError (exit 2) when --processes and a launcher are both asked to start ranks.
[[nodiscard]] Launch launch_of(int processes);
/// Whether this process is the one that starts the ranks.
[[nodiscard]] inline bool starts_ranks(int processes, const Launch& launch) {
  return processes > 1 && launch.launcher.empty();
}

/// Brings the ranks of a launch together. One process on its own needs no engine for it; several do: throws UserError
/// (exit 8), with what to install, where there is none.
[[nodiscard]] std::unique_ptr<Communicator> ranks_of(const Launch& launch, double timeout);

}  // namespace bdc::host
