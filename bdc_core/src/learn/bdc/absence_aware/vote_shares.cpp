#include "learn/bdc/absence_aware/vote_shares.h"

namespace bdc::absence_aware {
namespace {

/// Of a label, given to every class: none is impossible yet.
constexpr double kSmallVote = 0.01;

}  // namespace

void set_vote_shares(const ImageItems& image, std::size_t classes, ImageState& state) {
  std::vector<double> votes;
  for (Candidate& c : state.candidates) {
    const ClassSet set = state.classes_of(c, classes);
    votes.assign(set.size(), kSmallVote);
    double sum = 0;
    for (std::size_t u = 0; u < set.size(); ++u) {
      for (const std::int32_t n : c.members) {
        const Item& item = image.items[static_cast<std::size_t>(n)];
        if (item.class_probs != nullptr) {
          votes[u] += item.class_probs[set[u]];
        } else if (static_cast<std::size_t>(item.label) == set[u]) {
          votes[u] += 1;
        }
      }
      sum += votes[u];
    }
    for (std::size_t u = 0; u < set.size(); ++u) c.class_probs[u] = static_cast<float>(votes[u] / sum);
  }
}

}  // namespace bdc::absence_aware
