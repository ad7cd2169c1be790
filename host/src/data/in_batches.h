#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace bdc::host {

/// A list cut into batches of `size`, the last one with what is left.
[[nodiscard]] inline std::vector<std::vector<std::int64_t>> in_batches(const std::vector<std::int64_t>& order,
                                                                       std::int64_t size) {
  std::vector<std::vector<std::int64_t>> out;
  for (auto from = order.begin(); from != order.end();) {
    const auto to = from + std::min<std::ptrdiff_t>(size, order.end() - from);
    out.emplace_back(from, to);
    from = to;
  }
  return out;
}

}  // namespace bdc::host
