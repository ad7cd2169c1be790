#include "located_votes.h"

#include <algorithm>
#include <atomic>
#include <numeric>

#include "bdc/base/parallel.h"
#include "bdc/learn/simple/agreement_groups.h"

namespace bdc {

LocatedVotes locate_votes(const FitInput& input, double threshold) {
  check_input(input);
  const CrowdData& crowd = *input.crowd;
  std::vector<std::vector<std::vector<std::size_t>>> groups(crowd.images.size());
  std::atomic<std::size_t> incomplete{0};
  parallel_chunks(crowd.images.size(), 64, input.threads, [&](std::size_t first, std::size_t end, std::size_t) {
    for (std::size_t i = first; i < end; ++i) {
      std::vector<std::size_t> order(crowd.annotation_begin[i + 1] - crowd.annotation_begin[i]);
      std::iota(order.begin(), order.end(), crowd.annotation_begin[i]);
      std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return crowd.annotations[a].annotator < crowd.annotations[b].annotator;
      });
      std::vector<Box> boxes;
      std::vector<std::int32_t> annotators;
      for (const std::size_t a : order) {
        boxes.push_back(crowd.annotations[a].box);
        annotators.push_back(crowd.annotations[a].annotator);
      }
      const std::size_t looked = crowd.assignment_begin[i + 1] - crowd.assignment_begin[i];
      const AgreementGroups found = agreement_groups(boxes, annotators, looked, threshold);
      if (!found.complete) ++incomplete;
      for (const auto& members : found.members) {
        groups[i].emplace_back();
        for (const std::int32_t b : members) groups[i].back().push_back(order[static_cast<std::size_t>(b)]);
      }
    }
  });
  std::vector<ClassVote> votes;
  std::vector<std::size_t> begin(1, 0);
  for (const auto& image : groups) {
    for (const auto& group : image) {
      for (const std::size_t a : group) votes.push_back({crowd.annotations[a].annotator, crowd.annotations[a].label});
      begin.push_back(votes.size());
    }
  }
  DawidSkene skill(votes, begin, crowd.classes.size());
  return {std::move(groups), std::move(skill), incomplete};
}

}  // namespace bdc
