#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "bdc/learn/dependence.h"

namespace bdc {

/// Who hangs together by pairs with at least this share of errors in common: groups of two or more, each in ascending
/// order, in the order of their first members.
[[nodiscard]] std::vector<std::vector<std::int32_t>> communities(const std::vector<Dependence::Pair>& pairs,
                                                                 std::size_t people, double least_share);

}  // namespace bdc
