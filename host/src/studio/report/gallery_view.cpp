#include "studio/report/gallery_view.h"

#include <algorithm>
#include <cmath>

#include "studio/report/gallery_place.h"

namespace bdc::host {
namespace {

constexpr double kMargin = 0.15, kLeastMargin = 0.04;  // on each side, of the boxes' shorter and longer edge
constexpr double kLeastShare = 0.12;                   // of the image's longer edge: no closer
constexpr double kMostShare = 0.6;                     // of the image's area: beyond, the whole is shown
constexpr double kCloser = 0.3;  // of the area of all boxes: below, the most disputed place alone is shown
constexpr double kNarrowest = 4.0 / 3, kWidest = 7;      // width / height
constexpr double kLeastHeight = 100, kLeastWidth = 260;  // pixels on the page

/// What all boxes of image i cover.
Box reach_of(const ReportData& data, std::size_t i) {
  const CrowdData& crowd = data.crowd;
  Box reach;
  for (std::size_t n = crowd.annotation_begin[i]; n < crowd.annotation_begin[i + 1]; ++n) {
    reach = joined(reach, crowd.annotations[n].box);
  }
  for (const MethodLabels& m : data.methods) {
    for (std::size_t n = m.targets.begin[i]; n < m.targets.begin[i + 1]; ++n) {
      if (sureness(m.targets, n) >= kLeastSure) reach = joined(reach, m.targets.box[n]);
    }
  }
  if (crowd.has_truth && crowd.truth_covers[i]) {
    for (std::size_t n = crowd.truth_begin[i]; n < crowd.truth_begin[i + 1]; ++n) {
      reach = joined(reach, crowd.truth[n].box);
    }
  }
  return reach.valid() ? reach : Box{0, 0, 1, 1};
}

/// `length` long round the middle of [low, high], moved into [0, most]; most 0: anywhere.
std::pair<double, double> stretched(double low, double high, double length, double most) {
  if (most > 0 && length >= most) return {0, most};
  double from = (low + high - length) / 2;
  if (most > 0) from = std::clamp(from, 0.0, most - length);
  return {from, from + length};
}

/// Some margin round boxes, in a sensible shape; all of the image where that is not much more.
Box region_round(const Box& reach, double width, double height) {
  const double shorter = std::min(reach.width(), reach.height()), longer = std::max(reach.width(), reach.height()),
               margin = 2 * std::max(kMargin * shorter, kLeastMargin * longer),
               least = kLeastShare * std::max(width, height);
  double wide = std::max(reach.width() + margin, least), high = std::max(reach.height() + margin, least);
  wide = std::max(wide, kNarrowest * high);
  high = std::max(high, wide / kWidest);
  const auto [left, right] = stretched(reach.x1, reach.x2, wide, width);
  const auto [top, bottom] = stretched(reach.y1, reach.y2, high, height);
  const Box region{left, top, right, bottom};
  const bool known = width > 0 && height > 0;
  return known && region.area() > kMostShare * width * height ? Box{0, 0, width, height} : region;
}

}  // namespace

double sureness(const Targets& targets, std::size_t n) {
  return std::clamp(targets.existence.empty() ? targets.weight[n] : targets.existence[n], 0.0, 1.0);
}

double View::pixels() const {
  const double least = std::clamp(kLeastHeight * region.width() / region.height(), kLeastWidth, kPage),
               all = static_cast<double>(panels), fit = std::min(all, std::floor(kPage / least)),
               rows = std::ceil(all / fit);
  return kPage / std::ceil(all / rows);
}

View view_round(const Box& reach, double width, double height) {
  return {region_round(reach, width, height), width, height, 1};
}

View view_of(const ReportData& data, std::size_t i, double width, double height) {
  const std::size_t panels = 1 + data.methods.size() + (data.crowd.has_truth && data.crowd.truth_covers[i] ? 1 : 0);
  View view{region_round(reach_of(data, i), width, height), width, height, panels};
  const Box place = disputed_place(data.crowd, i);
  if (!place.valid()) return view;
  const Box close = region_round(place, width, height);
  if (close.area() <= kCloser * view.region.area()) view.region = close;
  return view;
}

}  // namespace bdc::host
