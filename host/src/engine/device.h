#pragma once

#include <c10/core/Device.h>

#include <string>

namespace bdc::host {

/// The device that train.device names: "cpu", "cuda", "cuda:1", or "auto" (the first CUDA device where there is one,
/// otherwise the CPU). Throws UserError: exit 3 for other words, exit 8 for a device that this build or machine has
/// not. local_rank: of several processes on one machine each takes a CUDA device of its own, unless one is named.
[[nodiscard]] c10::Device device_of(const std::string& text, int local_rank = 0);

}  // namespace bdc::host
