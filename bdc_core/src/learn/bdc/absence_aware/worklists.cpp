#include "learn/bdc/absence_aware/worklists.h"

#include <algorithm>
#include <cstddef>

namespace bdc::absence_aware {
namespace {

/// Two worklists are told apart when annotators differ by this many times what chance gives, in the mean square (an F
/// statistic), when one has at least this many times the boxes of the other, and both have at least so many images in
/// which somebody drew.
constexpr double kLeastRatio = 10, kLeastFactor = 1.5;
constexpr std::size_t kLeastImages = 30;

/// Boxes that colleagues drew in the images one annotator looked at, per look of theirs; images without any box apart.
struct Exposure {
  double images = 0, sum = 0, squares = 0;
  [[nodiscard]] double mean() const { return sum / images; }
};

std::vector<Exposure> exposures(const CrowdData& crowd) {
  std::vector<Exposure> out(crowd.annotators.size());
  std::vector<double> own(out.size(), 0.0);
  for (std::size_t i = 0; i < crowd.images.size(); ++i) {
    const std::size_t first = crowd.annotation_begin[i], end = crowd.annotation_begin[i + 1];
    const std::size_t looks = crowd.assignment_begin[i + 1] - crowd.assignment_begin[i];
    if (looks < 2 || first == end) continue;  // of images in which nobody drew no object rate is learnt
    for (std::size_t n = first; n < end; ++n) own[static_cast<std::size_t>(crowd.annotations[n].annotator)] += 1;
    for (std::size_t n = crowd.assignment_begin[i]; n < crowd.assignment_begin[i + 1]; ++n) {
      const auto k = static_cast<std::size_t>(crowd.assignments[n].annotator);
      const double others = (static_cast<double>(end - first) - own[k]) / static_cast<double>(looks - 1);
      out[k].images += 1;
      out[k].sum += others;
      out[k].squares += others * others;
    }
    for (std::size_t n = first; n < end; ++n) own[static_cast<std::size_t>(crowd.annotations[n].annotator)] = 0;
  }
  return out;
}

/// Annotators of few exposures first; those who saw nothing with others are left out.
std::vector<std::size_t> by_exposure(const std::vector<Exposure>& seen) {
  std::vector<std::size_t> order;
  for (std::size_t k = 0; k < seen.size(); ++k) {
    if (seen[k].images > 0) order.push_back(k);
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return seen[a].mean() < seen[b].mean(); });
  return order;
}

bool differ_beyond_chance(const std::vector<Exposure>& seen, const std::vector<std::size_t>& people) {
  double images = 0, sum = 0, within = 0, between = 0;
  for (const std::size_t k : people) {
    images += seen[k].images;
    sum += seen[k].sum;
    within += seen[k].squares - seen[k].sum * seen[k].mean();
  }
  const auto count = static_cast<double>(people.size());
  if (count < 2 || images <= count) return false;
  for (const std::size_t k : people) {
    const double off = seen[k].mean() - sum / images;
    between += seen[k].images * off * off;
  }
  return between / (count - 1) >= kLeastRatio * std::max(within, 1e-9) / (images - count);
}

/// How many of `people`, in order, belong to the lower worklist: the split that leaves the least scatter within the
/// two.
std::size_t best_split(const std::vector<Exposure>& seen, const std::vector<std::size_t>& people) {
  double images = 0, sum = 0, low_images = 0, low_sum = 0, best = -1;
  for (const std::size_t k : people) {
    images += seen[k].images;
    sum += seen[k].sum;
  }
  std::size_t split = 0;
  for (std::size_t n = 0; n + 1 < people.size(); ++n) {
    low_images += seen[people[n]].images;
    low_sum += seen[people[n]].sum;
    const double high_sum = sum - low_sum;
    const double gain = low_sum * low_sum / low_images + high_sum * high_sum / (images - low_images);
    if (gain <= best) continue;
    best = gain;
    split = n + 1;
  }
  return split;
}

/// The worklist with more votes; 0 when both have as many.
template <class Votes>
std::size_t majority(const Votes& votes) {
  return votes[1] > votes[0] ? 1 : 0;
}

/// Whether both worklists are worth telling apart.
bool are_distinct(const CrowdData& crowd, const std::vector<std::uint8_t>& worklist) {
  std::array<std::size_t, kWorklists> images{}, boxes{}, looks{};
  for (std::size_t i = 0; i < crowd.images.size(); ++i) {
    const std::size_t drawn = crowd.annotation_begin[i + 1] - crowd.annotation_begin[i];
    if (drawn == 0) continue;
    std::array<std::size_t, kWorklists> votes{};
    for (std::size_t n = crowd.assignment_begin[i]; n < crowd.assignment_begin[i + 1]; ++n) {
      ++votes[worklist[static_cast<std::size_t>(crowd.assignments[n].annotator)]];
    }
    const std::size_t at = majority(votes);
    ++images[at];
    boxes[at] += drawn;
    looks[at] += votes[0] + votes[1];
  }
  if (std::min(images[0], images[1]) < kLeastImages) return false;
  return static_cast<double>(boxes[1]) * static_cast<double>(looks[0]) >=
         kLeastFactor * static_cast<double>(boxes[0]) * static_cast<double>(looks[1]);
}

}  // namespace

std::vector<std::uint8_t> find_worklists(const CrowdData& crowd) {
  std::vector<std::uint8_t> worklist(crowd.annotators.size(), 0);
  if (crowd.assignment_begin.size() != crowd.images.size() + 1) return worklist;
  const std::vector<Exposure> seen = exposures(crowd);
  const std::vector<std::size_t> people = by_exposure(seen);
  if (!differ_beyond_chance(seen, people)) return worklist;
  for (std::size_t n = best_split(seen, people); n < people.size(); ++n) worklist[people[n]] = 1;
  if (!are_distinct(crowd, worklist)) std::fill(worklist.begin(), worklist.end(), 0);
  return worklist;
}

std::size_t worklist_of(const AbsenceAwareBeliefs& beliefs, const ImageItems& image) {
  std::array<std::size_t, kWorklists> votes{};
  for (const std::int32_t k : image.seen_by) {
    if (static_cast<std::size_t>(k) < beliefs.annotators) ++votes[beliefs.worklist[static_cast<std::size_t>(k)]];
  }
  return majority(votes);
}

}  // namespace bdc::absence_aware
