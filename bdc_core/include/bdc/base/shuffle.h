#pragma once

#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "bdc/base/random.h"

namespace bdc {

/// 0 .. count-1 in a random order, every order equally probable (Fisher and Yates).
[[nodiscard]] inline std::vector<std::int64_t> shuffled(std::int64_t count, Random random) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), std::int64_t{0});
  for (std::size_t left = order.size(); left > 1; --left) {
    std::swap(order[left - 1], order[static_cast<std::size_t>(random.below(static_cast<std::int64_t>(left)))]);
  }
  return order;
}

}  // namespace bdc
