#include "bdc/learn/simple/group_consensus.h"

#include <algorithm>

namespace bdc {

void group_consensus(const Groups& groups, Span<const Box> boxes, Span<const std::int32_t> labels, std::size_t J,
                     const double* noise, std::vector<Box>& box, std::vector<double>& scores) {
  box.assign(groups.size(), {});
  scores.assign(groups.size() * J, 0.0);
  std::vector<std::int32_t> votes(J);
  for (std::size_t g = 0; g < groups.size(); ++g) {
    std::fill(votes.begin(), votes.end(), 0);
    Box sum;
    for (const std::int32_t a : groups[g]) {
      const Box& b = boxes[static_cast<std::size_t>(a)];
      sum = {sum.x1 + b.x1, sum.y1 + b.y1, sum.x2 + b.x2, sum.y2 + b.y2};
      ++votes[static_cast<std::size_t>(labels[static_cast<std::size_t>(a)])];
    }
    const double n = static_cast<double>(groups[g].size());
    box[g] = {sum.x1 / n, sum.y1 / n, sum.x2 / n, sum.y2 / n};
    double* s = &scores[g * J];
    if (noise != nullptr) std::copy(noise + g * J, noise + (g + 1) * J, s);
    s[std::max_element(votes.begin(), votes.end()) - votes.begin()] += 1;
    const double highest = *std::max_element(s, s + J);
    for (std::size_t j = 0; j < J; ++j) s[j] /= highest;
  }
}

}  // namespace bdc
