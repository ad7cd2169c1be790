#include "cli/verbs/processes.h"

#include <iostream>

#include "bdc/base/user_error.h"
#include "cli/open_engine.h"

namespace bdc::host {

void add_processes_option(Command& verb, int& processes) {
  verb.add_option("--processes", processes, "run N processes on this machine (docs/scaling.md)")
      .type_name("N")
      .range(1, 1024);
}

Launch launch_of(int processes) {
  Launch launch = recognise_launch(environment());
  if (processes > 1 && !launch.launcher.empty() && launch.launcher != kOwnLauncher) {
    throw UserError(ExitCode::usage, "--processes starts the ranks itself, but " + launch.launcher +
                                         " has started this one; leave out one of the two");
  }
  return launch;
}

std::unique_ptr<Communicator> ranks_of(const Launch& launch, double timeout) {
  if (launch.is_alone()) return std::make_unique<Communicator>();
  return open_engine().join_ranks(launch, timeout, [](const std::string& text) {
    std::cerr << text + "\n" << std::flush;
  });
}

}  // namespace bdc::host
