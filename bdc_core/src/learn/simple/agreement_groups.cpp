#include "bdc/learn/simple/agreement_groups.h"

#include <algorithm>

namespace bdc {
namespace {

/// What some boxes have in common, and the smallest box around them.
struct Extent {
  Box common, hull;

  explicit Extent(const Box& b) : common(b), hull(b) {}
  void add(const Box& b) {
    common = {std::max(common.x1, b.x1), std::max(common.y1, b.y1), std::min(common.x2, b.x2),
              std::min(common.y2, b.y2)};
    hull = {std::min(hull.x1, b.x1), std::min(hull.y1, b.y1), std::max(hull.x2, b.x2), std::max(hull.y2, b.y2)};
  }
  [[nodiscard]] double share() const {
    if (!(common.x2 > common.x1 && common.y2 > common.y1)) return 0;
    return common.area() / hull.area();
  }
};

struct Candidate {
  double share = 0;
  std::vector<std::int32_t> members;
};

class Search {
 public:
  Search(Span<const Box> boxes, Span<const std::int32_t> annotators, double threshold, std::size_t most_steps)
      : boxes_(boxes), annotators_(annotators), threshold_(threshold), steps_left_(most_steps), later_(boxes.size()) {
    find_neighbours();
  }

  /// All choices of n boxes that are left.
  std::vector<Candidate> choices(std::size_t n, const std::vector<char>& used) {
    found_.clear();
    for (std::size_t first = 0; first < boxes_.size() && steps_left_ > 0; ++first) {
      if (used[first]) continue;
      chosen_.assign(1, static_cast<std::int32_t>(first));
      extend(n, 0, Extent(boxes_[first]), used);
    }
    return std::move(found_);
  }
  [[nodiscard]] bool complete() const { return steps_left_ > 0; }

 private:
  /// For each box those of later annotators that share enough with it, in the order of boxes.
  void find_neighbours() {
    std::vector<std::int32_t> by_left(boxes_.size());
    for (std::size_t b = 0; b < by_left.size(); ++b) by_left[b] = static_cast<std::int32_t>(b);
    const auto box = [&](std::int32_t b) -> const Box& { return boxes_[static_cast<std::size_t>(b)]; };
    std::sort(by_left.begin(), by_left.end(), [&](auto a, auto b) { return box(a).x1 < box(b).x1; });
    for (std::size_t p = 0; p < by_left.size(); ++p) {
      for (std::size_t q = p + 1; q < by_left.size() && box(by_left[q]).x1 < box(by_left[p]).x2; ++q) {
        const auto [a, b] = std::minmax(by_left[p], by_left[q]);
        if (annotators_[static_cast<std::size_t>(a)] == annotators_[static_cast<std::size_t>(b)]) continue;
        Extent both(box(a));
        both.add(box(b));
        if (shares_enough(both)) later_[static_cast<std::size_t>(a)].push_back(b);
      }
    }
    for (auto& list : later_) std::sort(list.begin(), list.end());
  }

  [[nodiscard]] bool shares_enough(const Extent& extent) const {
    const double share = extent.share();
    return share > 0 && share >= threshold_;
  }

  /// Adds boxes of later annotators, from place `from` of the first box's neighbours on, until there are n.
  void extend(std::size_t n, std::size_t from, const Extent& extent, const std::vector<char>& used) {
    if (steps_left_ == 0) return;
    --steps_left_;
    if (chosen_.size() == n) {
      found_.push_back({extent.share(), chosen_});
      return;
    }
    const auto& neighbours = later_[static_cast<std::size_t>(chosen_.front())];
    const std::int32_t last = annotators_[static_cast<std::size_t>(chosen_.back())];
    for (std::size_t p = from; p < neighbours.size() && chosen_.size() + neighbours.size() - p >= n; ++p) {
      const auto b = static_cast<std::size_t>(neighbours[p]);
      if (used[b] || annotators_[b] <= last) continue;
      Extent more = extent;
      more.add(boxes_[b]);
      if (!shares_enough(more)) continue;
      chosen_.push_back(neighbours[p]);
      extend(n, p + 1, more, used);
      chosen_.pop_back();
    }
  }

  Span<const Box> boxes_;
  Span<const std::int32_t> annotators_;
  double threshold_;
  std::size_t steps_left_;
  std::vector<std::vector<std::int32_t>> later_;
  std::vector<std::int32_t> chosen_;
  std::vector<Candidate> found_;
};

}  // namespace

double common_share(Span<const Box> boxes) {
  if (boxes.empty()) return 0;
  Extent extent(boxes[0]);
  for (const Box& b : boxes) extent.add(b);
  return extent.share();
}

AgreementGroups agreement_groups(Span<const Box> boxes, Span<const std::int32_t> annotators, std::size_t looked,
                                 double threshold, std::size_t most_steps) {
  AgreementGroups out;
  if (boxes.empty()) return out;
  Search search(boxes, annotators, threshold, most_steps);
  std::vector<char> used(boxes.size(), 0);
  std::size_t drew = 1;
  for (std::size_t b = 1; b < annotators.size(); ++b) drew += annotators[b] != annotators[b - 1] ? 1 : 0;
  for (std::size_t n = std::min(looked, drew); n >= 1 && 2 * n >= looked; --n) {
    std::vector<Candidate> candidates = search.choices(n, used);
    std::sort(candidates.begin(), candidates.end(), [](const Candidate& a, const Candidate& b) {
      return a.share != b.share ? a.share > b.share : a.members < b.members;
    });
    for (Candidate& c : candidates) {
      const auto is_used = [&](std::int32_t b) { return used[static_cast<std::size_t>(b)] != 0; };
      if (std::any_of(c.members.begin(), c.members.end(), is_used)) continue;
      for (const std::int32_t b : c.members) used[static_cast<std::size_t>(b)] = 1;
      out.members.push_back(std::move(c.members));
    }
  }
  out.complete = search.complete();
  return out;
}

}  // namespace bdc
