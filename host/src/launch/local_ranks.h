#pragma once

#include <string>
#include <vector>

namespace bdc::host {

/// Starts this program `count` times with the words of its own command line, as the ranks of one run on this machine,
/// and waits for all. threads: of each rank, 0: its part of the cores; their BLAS is held to it, unless
/// OPENBLAS_NUM_THREADS is set. SIGINT, SIGTERM, SIGHUP and SIGUSR1 are passed on to every rank, once each time. When a
/// rank fails, the others have ten seconds to notice and to leave; then they are killed. Returns the exit code of the
/// rank that failed first (128 + the number of a signal that ended it), or 0. Throws UserError (exit 1) when a process
/// cannot be started.
[[nodiscard]] int run_local_ranks(int count, int threads);

/// A TCP port of this machine that nobody uses now. Throws UserError (exit 1) when there is none.
[[nodiscard]] int free_port();

}  // namespace bdc::host
