#pragma once

#include <functional>
#include <memory>
#include <string>

#include "launch/launch.h"
#include "ranks/communicator.h"

namespace bdc::host {

/// Brings the ranks of a launch together over LibTorch's c10d (TCPStore and Gloo); one process on its own gets a
/// communicator that does nothing. Returns when all have come. Every wait, here and later, ends after `timeout`
/// seconds; from five seconds on `say` is told every five who is missing, perhaps from another thread. Throws
/// UserError: exit 10 when ranks are missing, two have one number or they count differently, when the port is taken or
/// the place to meet cannot be reached.
[[nodiscard]] std::unique_ptr<Communicator> join_ranks(const Launch& launch, double timeout,
                                                       std::function<void(const std::string&)> say);

}  // namespace bdc::host
