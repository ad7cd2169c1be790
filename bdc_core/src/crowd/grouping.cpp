#include "bdc/crowd/grouping.h"

#include <algorithm>

namespace bdc {
namespace {

/// Groups under construction: members of a group form a linked list through `next`.
class GroupLists {
 public:
  explicit GroupLists(std::size_t annotations) : next_(annotations, -1) {}

  void found(std::int32_t annotation) { groups_.push_back({annotation, annotation, 1}); }
  void join(std::size_t g, std::int32_t annotation) {
    next_[static_cast<std::size_t>(groups_[g].last)] = annotation;
    groups_[g].last = annotation;
    ++groups_[g].size;
  }
  [[nodiscard]] std::size_t count() const { return groups_.size(); }
  [[nodiscard]] std::int32_t size(std::size_t g) const { return groups_[g].size; }

  /// Calls visit(member) until it returns false.
  template <class Visit>
  void each(std::size_t g, Visit visit) const {
    for (std::int32_t a = groups_[g].first; a >= 0; a = next_[static_cast<std::size_t>(a)]) {
      if (!visit(static_cast<std::size_t>(a))) return;
    }
  }

  void flatten(Groups& out) const {
    out.members.clear();
    out.begin.assign(1, 0);
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      each(g, [&](std::size_t a) {
        out.members.push_back(static_cast<std::int32_t>(a));
        return true;
      });
      out.begin.push_back(static_cast<std::int32_t>(out.members.size()));
    }
  }

 private:
  struct List {
    std::int32_t first, last, size;
  };
  std::vector<List> groups_;
  std::vector<std::int32_t> next_;
};

struct Overlap {
  bool same_annotator = false;
  std::int32_t overlapping = 0;
  double mean_iou = 0;
};

Overlap overlap_with_group(const GroupLists& groups, std::size_t g, Span<const Box> boxes,
                           Span<const std::int32_t> annotators, std::size_t annotation, double threshold) {
  Overlap result;
  double sum = 0;
  groups.each(g, [&](std::size_t member) {
    if (annotators[member] == annotators[annotation]) {
      result.same_annotator = true;
      return false;
    }
    const double iou = grouping_iou(boxes[member], boxes[annotation]);
    sum += iou;
    result.overlapping += iou > threshold;
    return true;
  });
  result.mean_iou = sum / groups.size(g);
  return result;
}

}  // namespace

double grouping_iou(const Box& a, const Box& b) {
  constexpr double e = 1e-7;
  const double inter = intersection(a, b);
  return inter / (a.width() * (a.height() + e) + b.width() * (b.height() + e) - inter + e);
}

void group_by_best_overlap(Span<const Box> boxes, Span<const std::int32_t> annotators, double threshold, Groups& out) {
  GroupLists groups(boxes.size());
  const std::int32_t founder = annotators.empty() ? 0 : *std::min_element(annotators.begin(), annotators.end());
  for (std::size_t a = 0; a < boxes.size(); ++a) {
    if (annotators[a] == founder) groups.found(static_cast<std::int32_t>(a));
  }
  for (std::size_t a = 0; a < boxes.size(); ++a) {
    if (annotators[a] == founder) continue;
    std::size_t best = groups.count();
    double best_iou = 0;
    for (std::size_t g = 0; g < groups.count(); ++g) {
      const Overlap overlap = overlap_with_group(groups, g, boxes, annotators, a, threshold);
      if (overlap.same_annotator || overlap.overlapping <= std::max(0, groups.size(g) / 2 - 1)) continue;
      if (best == groups.count() || overlap.mean_iou > best_iou) {
        best = g;
        best_iou = overlap.mean_iou;
      }
    }
    if (best == groups.count()) {
      groups.found(static_cast<std::int32_t>(a));
    } else {
      groups.join(best, static_cast<std::int32_t>(a));
    }
  }
  groups.flatten(out);
}

void group_by_first_overlap(Span<const Box> boxes, Span<const std::int32_t> annotators, double threshold, Groups& out) {
  GroupLists groups(boxes.size());
  for (std::size_t a = 0; a < boxes.size(); ++a) {
    bool joined = false;
    for (std::size_t g = 0; g < groups.count() && !joined; ++g) {
      const Overlap overlap = overlap_with_group(groups, g, boxes, annotators, a, threshold);
      if (overlap.same_annotator || overlap.overlapping <= groups.size(g) / 2) continue;
      groups.join(g, static_cast<std::int32_t>(a));
      joined = true;
    }
    if (!joined) groups.found(static_cast<std::int32_t>(a));
  }
  groups.flatten(out);
}

}  // namespace bdc
