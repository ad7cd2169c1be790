#pragma once

#include <bdc/plugin/types.h>

namespace bdc::host {

/// The numbers of a loss, without gradient, on the CPU: from a device in one transfer.
[[nodiscard]] plugin::LossTerms on_host(const plugin::LossTerms& terms);

}  // namespace bdc::host
