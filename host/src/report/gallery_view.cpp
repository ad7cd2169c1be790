#include "report/gallery_view.h"

#include <algorithm>
#include <cmath>

namespace bdc::host {
namespace {

constexpr double kMargin = 0.15, kLeastMargin = 0.04;    // on each side, of the boxes' shorter and longer edge
constexpr double kLeastShare = 0.12;                     // of the image's longer edge: no closer
constexpr double kMostShare = 0.6;                       // of the image's area: beyond, the whole is shown
constexpr double kNarrowest = 4.0 / 3, kWidest = 7;      // width / height
constexpr double kLeastHeight = 100, kLeastWidth = 260;  // pixels on the page

/// What all boxes cover; not valid when there are none.
class Reach {
 public:
  void add(const Box& b) {
    if (!b.valid()) return;
    all_ = any_
               ? Box{std::min(all_.x1, b.x1), std::min(all_.y1, b.y1), std::max(all_.x2, b.x2), std::max(all_.y2, b.y2)}
               : b;
    any_ = true;
  }
  [[nodiscard]] Box box() const { return any_ ? all_ : Box{0, 0, 1, 1}; }

 private:
  Box all_{};
  bool any_ = false;
};

Box reach_of(const ReportData& data, std::size_t i) {
  const CrowdData& crowd = data.crowd;
  Reach reach;
  for (std::size_t n = crowd.annotation_begin[i]; n < crowd.annotation_begin[i + 1]; ++n) {
    reach.add(crowd.annotations[n].box);
  }
  for (const MethodLabels& m : data.methods) {
    for (std::size_t n = m.targets.begin[i]; n < m.targets.begin[i + 1]; ++n) {
      if (sureness(m.targets, n) >= kLeastSure) reach.add(m.targets.box[n]);
    }
  }
  if (crowd.has_truth && crowd.truth_covers[i]) {
    for (std::size_t n = crowd.truth_begin[i]; n < crowd.truth_begin[i + 1]; ++n) reach.add(crowd.truth[n].box);
  }
  return reach.box();
}

/// `length` long round the middle of [low, high], moved into [0, most]; most 0: anywhere.
std::pair<double, double> stretched(double low, double high, double length, double most) {
  if (most > 0 && length >= most) return {0, most};
  double from = (low + high - length) / 2;
  if (most > 0) from = std::clamp(from, 0.0, most - length);
  return {from, from + length};
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

View view_of(const ReportData& data, std::size_t i, double width, double height) {
  const Box reach = reach_of(data, i);
  const double shorter = std::min(reach.width(), reach.height()), longer = std::max(reach.width(), reach.height()),
               margin = 2 * std::max(kMargin * shorter, kLeastMargin * longer),
               least = kLeastShare * std::max(width, height);
  double wide = std::max(reach.width() + margin, least), high = std::max(reach.height() + margin, least);
  wide = std::max(wide, kNarrowest * high);
  high = std::max(high, wide / kWidest);
  const auto [left, right] = stretched(reach.x1, reach.x2, wide, width);
  const auto [top, bottom] = stretched(reach.y1, reach.y2, high, height);
  const std::size_t panels = 1 + data.methods.size() + (data.crowd.has_truth && data.crowd.truth_covers[i] ? 1 : 0);
  const View part{{left, top, right, bottom}, width, height, panels};
  const bool known = width > 0 && height > 0;
  if (known && part.region.area() > kMostShare * width * height) return {{0, 0, width, height}, width, height, panels};
  return part;
}

}  // namespace bdc::host
