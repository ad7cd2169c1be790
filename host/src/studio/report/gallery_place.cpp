#include "studio/report/gallery_place.h"

#include <algorithm>
#include <map>
#include <vector>

namespace bdc::host {
namespace {

constexpr double kNear = 1.0;  // boxes nearer than their own sizes belong together

Box widened(const Box& b) {
  const double dx = kNear / 2 * b.width(), dy = kNear / 2 * b.height();
  return {b.x1 - dx, b.y1 - dy, b.x2 + dx, b.y2 + dy};
}

/// place[n]: number of the place of box n.
std::vector<std::size_t> places_of(const std::vector<Box>& boxes) {
  std::vector<std::size_t> place(boxes.size(), boxes.size());
  std::size_t places = 0;
  for (std::size_t first = 0; first < boxes.size(); ++first) {
    if (place[first] < boxes.size()) continue;
    std::vector<std::size_t> open = {first};
    place[first] = places;
    while (!open.empty()) {
      const Box here = widened(boxes[open.back()]);
      open.pop_back();
      for (std::size_t n = 0; n < boxes.size(); ++n) {
        if (place[n] < boxes.size() || intersection(here, widened(boxes[n])) <= 0) continue;
        place[n] = places;
        open.push_back(n);
      }
    }
    ++places;
  }
  return place;
}

}  // namespace

Box joined(const Box& a, const Box& b) {
  if (!a.valid()) return b;
  if (!b.valid()) return a;
  return {std::min(a.x1, b.x1), std::min(a.y1, b.y1), std::max(a.x2, b.x2), std::max(a.y2, b.y2)};
}

Box disputed_place(const CrowdData& crowd, std::size_t i) {
  std::vector<Box> boxes;
  std::vector<std::int32_t> annotators;
  for (std::size_t n = crowd.annotation_begin[i]; n < crowd.annotation_begin[i + 1]; ++n) {
    if (!crowd.annotations[n].box.valid()) continue;
    boxes.push_back(crowd.annotations[n].box);
    annotators.push_back(crowd.annotations[n].annotator);
  }
  const auto others = static_cast<double>(crowd.assignment_begin[i + 1] - crowd.assignment_begin[i]) - 1;
  const auto place = places_of(boxes);
  std::vector<double> dispute(boxes.size(), 0.0);
  std::vector<Box> cover(boxes.size());
  for (std::size_t n = 0; n < boxes.size(); ++n) {
    std::map<std::int32_t, double> best;
    for (std::size_t m = 0; m < boxes.size(); ++m) {
      if (annotators[m] == annotators[n]) continue;
      double& overlap = best[annotators[m]];
      overlap = std::max(overlap, iou(boxes[n], boxes[m]));
    }
    double sum = 0;
    for (const auto& [annotator, overlap] : best) sum += overlap;
    dispute[place[n]] += 1 - sum / std::max(1.0, others);
    cover[place[n]] = joined(cover[place[n]], boxes[n]);
  }
  if (boxes.empty()) return {};
  return cover[static_cast<std::size_t>(std::max_element(dispute.begin(), dispute.end()) - dispute.begin())];
}

}  // namespace bdc::host
