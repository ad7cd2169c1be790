#include "bdc/learn/communities.h"

#include <algorithm>
#include <numeric>

namespace bdc {

std::vector<std::vector<std::int32_t>> communities(const std::vector<Dependence::Pair>& pairs, std::size_t people,
                                                   double least_share) {
  std::vector<std::int32_t> parent(people);
  std::iota(parent.begin(), parent.end(), 0);
  const auto root = [&](std::int32_t k) {
    while (parent[static_cast<std::size_t>(k)] != k) k = parent[static_cast<std::size_t>(k)];
    return static_cast<std::size_t>(k);
  };
  for (const Dependence::Pair& pair : pairs) {
    if (pair.share < least_share) continue;
    const std::size_t a = root(pair.first), b = root(pair.second);
    parent[std::max(a, b)] = static_cast<std::int32_t>(std::min(a, b));
  }
  std::vector<std::vector<std::int32_t>> members(people), out;
  for (std::size_t k = 0; k < people; ++k) {
    members[root(static_cast<std::int32_t>(k))].push_back(static_cast<std::int32_t>(k));
  }
  for (auto& group : members) {
    if (group.size() > 1) out.push_back(std::move(group));
  }
  return out;
}

}  // namespace bdc
