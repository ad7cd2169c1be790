#include "learn/bdc/absence_aware/look_weights.h"

namespace bdc::absence_aware {

std::vector<double> look_weights(const AbsenceAwareBeliefs& beliefs, Span<const std::int32_t> seen_by) {
  if (beliefs.dependent_begin.empty()) return {};
  std::vector<double> sum(seen_by.size(), 0.0);
  bool any = false;
  for (std::size_t a = 0; a < seen_by.size(); ++a) {
    const auto k = static_cast<std::size_t>(seen_by[a]);
    for (std::size_t n = beliefs.dependent_begin[k]; n < beliefs.dependent_begin[k + 1]; ++n) {
      for (const std::int32_t other : seen_by) {
        if (other != beliefs.dependent_on[n]) continue;
        sum[a] += beliefs.dependent_share[n];
        any = true;
      }
    }
  }
  if (!any) return {};
  for (double& s : sum) s = 1 / (1 + s);
  return sum;
}

}  // namespace bdc::absence_aware
