#include "data/box_map.h"

#include <cmath>
#include <stdexcept>

namespace bdc::host {
namespace {

constexpr double kLeastShare = 0.1, kLeastPixels = 2;
/// Sizes from the exact inverse are trusted from this share of the simple estimate on.
constexpr double kLeastPlausible = 0.2;

Box around(double cx, double cy, double width, double height) {
  return {cx - width / 2, cy - height / 2, cx + width / 2, cy + height / 2};
}

}  // namespace

AffineMap compose(const AffineMap& b, const AffineMap& a) {
  return {b[0] * a[0] + b[1] * a[3], b[0] * a[1] + b[1] * a[4], b[0] * a[2] + b[1] * a[5] + b[2],
          b[3] * a[0] + b[4] * a[3], b[3] * a[1] + b[4] * a[4], b[3] * a[2] + b[4] * a[5] + b[5]};
}

Box map_box(const AffineMap& m, const Box& box) {
  const double cx = (box.x1 + box.x2) / 2, cy = (box.y1 + box.y2) / 2, w = box.width(), h = box.height();
  return around(m[0] * cx + m[1] * cy + m[2], m[3] * cx + m[4] * cy + m[5], std::abs(m[0]) * w + std::abs(m[1]) * h,
                std::abs(m[3]) * w + std::abs(m[4]) * h);
}

Box unmap_box(const AffineMap& m, const Box& box) {
  const double det = m[0] * m[4] - m[1] * m[3];
  if (!(std::abs(det) > 1e-12)) throw std::domain_error("affine map is singular");
  const double u = (box.x1 + box.x2) / 2 - m[2], v = (box.y1 + box.y2) / 2 - m[5];
  const double cx = (m[4] * u - m[1] * v) / det, cy = (m[0] * v - m[3] * u) / det;
  const double a = std::abs(m[0]), b = std::abs(m[1]), c = std::abs(m[3]), d = std::abs(m[4]);
  const double simple_w = box.width() / std::hypot(a, c), simple_h = box.height() / std::hypot(b, d);
  const double size_det = a * d - b * c;  // of |A|, which maps sizes
  if (std::abs(size_det) > kLeastPlausible * std::abs(det)) {
    const double w = (d * box.width() - b * box.height()) / size_det,
                 h = (a * box.height() - c * box.width()) / size_det;
    if (w >= kLeastPlausible * simple_w && h >= kLeastPlausible * simple_h) return around(cx, cy, w, h);
  }
  return around(cx, cy, simple_w, simple_h);
}

std::optional<Box> clip_box(const Box& box, const Box& area) {
  const Box inside{std::max(area.x1, box.x1), std::max(area.y1, box.y1), std::min(area.x2, box.x2),
                   std::min(area.y2, box.y2)};
  if (!(inside.width() >= kLeastPixels && inside.height() >= kLeastPixels)) return std::nullopt;
  if (!(inside.area() >= kLeastShare * box.area())) return std::nullopt;
  return inside;
}

std::optional<Box> clip_to_input(const Box& box, double width, double height) {
  return clip_box(box, {0, 0, width, height});
}

}  // namespace bdc::host
