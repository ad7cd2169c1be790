#pragma once

#include <vector>

#include "learn/bdc/absence_aware/image_state.h"

namespace bdc::absence_aware {

/// What each of those who looked at an image counts: 1 / (1 + sum over the others who looked of rho). Empty when all
/// count 1.
[[nodiscard]] std::vector<double> look_weights(const AbsenceAwareBeliefs& beliefs, Span<const std::int32_t> seen_by);

}  // namespace bdc::absence_aware
