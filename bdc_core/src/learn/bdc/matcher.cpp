#include "bdc/learn/bdc/matcher.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "bdc/crowd/geometry.h"

namespace bdc {
namespace {

double l1_of_centers(const Box& a, const Box& b) {
  const double dx1 = a.x1 - b.x1, dx2 = a.x2 - b.x2, dy1 = a.y1 - b.y1, dy2 = a.y2 - b.y2;
  return std::abs(dx1 + dx2) / 2 + std::abs(dy1 + dy2) / 2 + std::abs(dx2 - dx1) + std::abs(dy2 - dy1);
}

double l1_of_corners(const Box& a, const Box& b) {
  return std::abs(a.x1 - b.x1) + std::abs(a.y1 - b.y1) + std::abs(a.x2 - b.x2) + std::abs(a.y2 - b.y2);
}

}  // namespace

void match_one_to_many(const MatchProblem& problem, const MatchCost& cost, std::int32_t* match) {
  for (std::size_t m = 0; m < problem.annotations.size(); ++m) {
    const Box box = problem.annotations[m];
    const double* p = problem.probs + problem.labels[m];
    double best = std::numeric_limits<double>::infinity();
    match[m] = -1;
    for (std::size_t n = 0; n < problem.predictions.size(); ++n) {
      const Box& other = problem.predictions[n];
      const double l1 = cost.l1 * l1_of_centers(other, box);
      if (-p[n * problem.num_classes] + l1 >= best) continue;  // too dear whatever the overlap
      const double value = -p[n * problem.num_classes] + cost.iou * (1 - giou(other, box)) + l1;
      if (value < best) {
        best = value;
        match[m] = static_cast<std::int32_t>(n);
      }
    }
  }
}

void match_one_per_annotator(const MatchProblem& problem, Span<const std::int32_t> previous, const MatchCost& cost,
                             std::int32_t* taken_by, std::int32_t* match) {
  std::fill(taken_by, taken_by + problem.predictions.size(), -1);
  for (std::size_t m = 0; m < problem.annotations.size(); ++m) {
    // taken_by[n] == m: prediction n already holds an annotation of m's annotator.
    for (std::int32_t b = previous[m]; b >= 0; b = previous[static_cast<std::size_t>(b)]) {
      if (match[b] >= 0) taken_by[match[b]] = static_cast<std::int32_t>(m);
    }
    const Box box = problem.annotations[m];
    const double* p = problem.probs + problem.labels[m];
    double best = std::numeric_limits<double>::infinity();
    match[m] = -1;
    for (std::size_t n = 0; n < problem.predictions.size(); ++n) {
      if (taken_by[n] == static_cast<std::int32_t>(m)) continue;
      const Box& other = problem.predictions[n];
      const double l1 = cost.l1 * l1_of_corners(other, box);
      if (-p[n * problem.num_classes] + l1 >= best) continue;  // too dear whatever the overlap
      const double value = -p[n * problem.num_classes] + cost.iou * (1 - iou(other, box)) + l1;
      if (value < best) {
        best = value;
        match[m] = static_cast<std::int32_t>(n);
      }
    }
  }
}

}  // namespace bdc
