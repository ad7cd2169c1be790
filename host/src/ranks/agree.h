#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "ranks/communicator.h"

namespace bdc::host {

/// Something that must be the same in all ranks: its name, and it (or a digest of it).
using Fact = std::pair<std::string, std::string>;

/// Throws the same UserError (exit 10) in every rank unless all have the same facts: names the ranks that differ from
/// rank 0, what differs, and its first line that does.
void require_agreement(Communicator& ranks, const std::vector<Fact>& facts);

/// Runs `work` in every rank and returns when all are through. Where it threw, every rank throws UserError: the ranks
/// that failed their own error, with their number; the others one that names those, with its exit code. What several
/// ranks say in the same words is said by the first of them; the others' message is empty.
void do_together(Communicator& ranks, const std::function<void()>& work);

/// Runs what a process does as one of several ranks, or alone. What it throws is told to the others, so that they can
/// say so, and thrown again as a UserError that names this rank; rank 0 needs no name.
void run_as_rank(Communicator& ranks, const std::function<void()>& work);

}  // namespace bdc::host
