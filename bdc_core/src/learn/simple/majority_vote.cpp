#include "bdc/learn/simple/majority_vote.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace bdc {
namespace {

/// The class with the most votes, -1 for "nothing"; ties go to the smallest.
std::int32_t most_frequent(Span<const std::int32_t> labels, std::size_t annotators) {
  std::vector<std::int32_t> sorted(labels.begin(), labels.end());
  std::sort(sorted.begin(), sorted.end());
  std::int32_t best = -1;
  std::size_t votes = annotators > labels.size() ? annotators - labels.size() : 0;
  if (votes == 0) best = sorted[0];
  for (std::size_t i = 0; i < sorted.size();) {
    std::size_t j = i;
    while (j < sorted.size() && sorted[j] == sorted[i]) ++j;
    if (j - i > votes) {
      votes = j - i;
      best = sorted[i];
    }
    i = j;
  }
  return best;
}

/// Coordinates where something changes, sorted. Cell i lies between value[i] and value[i+1].
std::vector<double> edges(Span<const Box> boxes, double Box::*low, double Box::*high) {
  std::vector<double> values;
  for (const Box& b : boxes) {
    values.push_back(b.*low);
    values.push_back(b.*high);
  }
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  return values;
}

/// The plane cut along all edges of the boxes; within a cell every pixel is drawn by the same boxes. A border of one
/// empty cell runs around it, so that neighbours always exist.
class CellGrid {
 public:
  CellGrid(Span<const Box> boxes, std::size_t more_than)
      : xs_(edges(boxes, &Box::x1, &Box::x2)), ys_(edges(boxes, &Box::y1, &Box::y2)) {
    columns_ = xs_.size() + 1;
    rows_ = ys_.size() + 1;
    std::vector<std::int32_t> count(columns_ * rows_, 0);  // differences, then summed in both directions
    const auto at = [](const std::vector<double>& values, double v) {
      return static_cast<std::size_t>(std::lower_bound(values.begin(), values.end(), v) - values.begin()) + 1;
    };
    for (const Box& b : boxes) {
      if (!(b.x1 < b.x2 && b.y1 < b.y2)) continue;
      const std::size_t x1 = at(xs_, b.x1), x2 = at(xs_, b.x2), y1 = at(ys_, b.y1), y2 = at(ys_, b.y2);
      ++count[index(x1, y1)];
      --count[index(x2, y1)];
      --count[index(x1, y2)];
      ++count[index(x2, y2)];
    }
    for (std::size_t x = 1; x < columns_; ++x) {
      for (std::size_t y = 0; y < rows_; ++y) count[index(x, y)] += count[index(x - 1, y)];
    }
    component_.assign(columns_ * rows_, kOutside);
    for (std::size_t x = 0; x < columns_; ++x) {
      for (std::size_t y = 1; y < rows_; ++y) count[index(x, y)] += count[index(x, y - 1)];
      for (std::size_t y = 0; y < rows_; ++y) {
        if (count[index(x, y)] > static_cast<std::int32_t>(more_than)) component_[index(x, y)] = kUnseen;
      }
    }
  }

  /// The bounding box of the winning component; false when there is none.
  bool largest_component(Box& out) {
    bool found = false;
    double best_area = 0;
    // x outside, y inside: components come in the order of their first pixels, so the last of equals wins with >=.
    std::int32_t next = 0;
    for (std::size_t x = 1; x + 1 < columns_; ++x) {
      for (std::size_t y = 1; y + 1 < rows_; ++y) {
        if (component_[index(x, y)] != kUnseen) continue;
        const Extent extent = flood(x, y, next);
        const double area = filled_area(extent, next);
        ++next;
        if (found && area < best_area) continue;
        found = true;
        best_area = area;
        out = {xs_[extent.x1 - 1], ys_[extent.y1 - 1], xs_[extent.x2], ys_[extent.y2]};
      }
    }
    return found;
  }

 private:
  static constexpr std::int32_t kOutside = -2, kUnseen = -1;
  struct Extent {
    std::size_t x1, y1, x2, y2;  // cells, inclusive
  };

  [[nodiscard]] std::size_t index(std::size_t x, std::size_t y) const { return x * rows_ + y; }
  [[nodiscard]] double width(std::size_t x) const { return xs_[x] - xs_[x - 1]; }
  [[nodiscard]] double height(std::size_t y) const { return ys_[y] - ys_[y - 1]; }

  Extent flood(std::size_t x, std::size_t y, std::int32_t id) {
    Extent extent{x, y, x, y};
    stack_.assign(1, {x, y});
    component_[index(x, y)] = id;
    while (!stack_.empty()) {
      const auto [cx, cy] = stack_.back();
      stack_.pop_back();
      extent = {std::min(extent.x1, cx), std::min(extent.y1, cy), std::max(extent.x2, cx), std::max(extent.y2, cy)};
      for (std::size_t nx = cx - 1; nx <= cx + 1; ++nx) {
        for (std::size_t ny = cy - 1; ny <= cy + 1; ++ny) {
          if (component_[index(nx, ny)] != kUnseen) continue;
          component_[index(nx, ny)] = id;
          stack_.push_back({nx, ny});
        }
      }
    }
    return extent;
  }

  /// Area through pixel centres of a component with its holes filled.
  double filled_area(const Extent& e, std::int32_t id) {
    // What is not reached from outside without crossing the component belongs to it.
    const std::size_t w = e.x2 - e.x1 + 3, h = e.y2 - e.y1 + 3;
    const auto local = [&](std::size_t x, std::size_t y) { return x * h + y; };
    inside_.assign(w * h, 1);
    stack_.assign(1, {0, 0});
    inside_[0] = 0;
    const auto visit = [&](std::size_t x, std::size_t y) {
      if (!inside_[local(x, y)] || component_[index(e.x1 + x - 1, e.y1 + y - 1)] == id) return;
      inside_[local(x, y)] = 0;
      stack_.push_back({x, y});
    };
    while (!stack_.empty()) {
      const auto [x, y] = stack_.back();
      stack_.pop_back();
      if (x > 0) visit(x - 1, y);
      if (y > 0) visit(x, y - 1);
      if (x + 1 < w) visit(x + 1, y);
      if (y + 1 < h) visit(x, y + 1);
    }
    double area = 0;
    for (std::size_t x = 1; x + 1 < w; ++x) {
      for (std::size_t y = 1; y + 1 < h; ++y) {
        const bool here = inside_[local(x, y)], right = inside_[local(x + 1, y)], below = inside_[local(x, y + 1)];
        const double cell_w = width(e.x1 + x - 1), cell_h = height(e.y1 + y - 1);
        if (here) area += (cell_w - 1) * (cell_h - 1);
        if (here && right) area += cell_h - 1;  // windows across the cell's right edge
        if (here && below) area += cell_w - 1;
        const int corner = here + right + below + inside_[local(x + 1, y + 1)];
        area += corner == 4 ? 1.0 : (corner == 3 ? 0.5 : 0.0);
      }
    }
    // Windows at the corners left of and above the first cells have at most two pixels set.
    return area;
  }

  std::vector<double> xs_, ys_;
  std::size_t columns_ = 0, rows_ = 0;
  std::vector<std::int32_t> component_;
  std::vector<std::pair<std::size_t, std::size_t>> stack_;
  std::vector<char> inside_;
};

Box corner_extremes(Span<const Box> boxes, bool outer) {
  Box out = boxes[0];
  for (const Box& b : boxes) {
    const auto low = [&](double a, double c) { return outer ? std::min(a, c) : std::max(a, c); };
    const auto high = [&](double a, double c) { return outer ? std::max(a, c) : std::min(a, c); };
    out = {low(out.x1, b.x1), low(out.y1, b.y1), high(out.x2, b.x2), high(out.y2, b.y2)};
  }
  return out;
}

Box rounded_mean(Span<const Box> boxes) {
  Box sum;
  for (const Box& b : boxes) sum = {sum.x1 + b.x1, sum.y1 + b.y1, sum.x2 + b.x2, sum.y2 + b.y2};
  const double n = static_cast<double>(boxes.size());
  return {std::nearbyint(sum.x1 / n), std::nearbyint(sum.y1 / n), std::nearbyint(sum.x2 / n),
          std::nearbyint(sum.y2 / n)};
}

}  // namespace

VoteResult reduce_group(Span<const Box> boxes, Span<const std::int32_t> labels, std::size_t annotators, BoxRule rule) {
  VoteResult result;
  if (boxes.empty()) return result;
  result.label = most_frequent(labels, annotators);
  if (result.label < 0) return result;
  switch (rule) {
    case BoxRule::kUnion:
      result.box = corner_extremes(boxes, true);
      break;
    case BoxRule::kIntersect:
      result.box = corner_extremes(boxes, false);
      break;
    case BoxRule::kAverage:
      result.box = rounded_mean(boxes);
      break;
    case BoxRule::kMajority:
      if (!CellGrid(boxes, annotators / 2).largest_component(result.box)) {
        result.outcome = VoteOutcome::kNoMajority;
        return result;
      }
      break;
  }
  result.outcome = result.box.valid() ? VoteOutcome::kBox : VoteOutcome::kEmptyBox;
  return result;
}

}  // namespace bdc
