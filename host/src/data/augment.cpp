#include "data/augment.h"

#include <cmath>

#include "bdc/base/random.h"

namespace bdc::host {
namespace {

constexpr double kRadians = 3.14159265358979323846 / 180;

}  // namespace

bool Augmentation::warps() const {
  return angle != 0 || shear_x != 0 || shear_y != 0 || shift_x != 0 || shift_y != 0 || zoom != 1;
}

bool Augmentation::recolours() const {
  return hue != 0 || saturation != 1 || value != 1;
}

Augmentation draw_augmentation(const AugmentSettings& s, std::uint64_t seed, std::int64_t epoch, std::int64_t index) {
  Random of_epoch(seed, 5, static_cast<std::uint64_t>(epoch));
  Random random(of_epoch.next(), 6, static_cast<std::uint64_t>(index));
  const auto either_way = [&](double most) { return most * random.uniform(-1, 1); };
  Augmentation a;  // every line draws, whatever the settings
  a.angle = either_way(s.rotate) * kRadians;
  a.shift_x = either_way(s.translate);
  a.shift_y = either_way(s.translate);
  a.zoom = 1 + either_way(s.zoom);
  a.shear_x = either_way(s.shear) * kRadians;
  a.shear_y = either_way(s.shear) * kRadians;
  a.flip_x = random.uniform() < s.flip_x;
  a.flip_y = random.uniform() < s.flip_y;
  a.hue = either_way(s.hue);
  a.saturation = 1 + either_way(s.saturation);
  a.value = 1 + either_way(s.value);
  return a;
}

AffineMap augmented_map(const Augmentation& a, double original_width, double original_height, double content_width,
                        double content_height) {
  const AffineMap letterbox{content_width / original_width, 0, 0, 0, content_height / original_height, 0};
  if (!a.warps() && !a.flip_x && !a.flip_y) return letterbox;
  const double cx = content_width / 2, cy = content_height / 2;
  const double fx = a.flip_x ? -a.zoom : a.zoom, fy = a.flip_y ? -a.zoom : a.zoom;
  AffineMap map = compose({fx, 0, -fx * cx, 0, fy, -fy * cy}, letterbox);
  map = compose({1, std::tan(a.shear_x), 0, 0, 1, 0}, map);
  map = compose({1, 0, 0, std::tan(a.shear_y), 1, 0}, map);
  const double c = std::cos(a.angle), s = std::sin(a.angle);
  return compose({c, -s, cx + a.shift_x * content_width, s, c, cy + a.shift_y * content_height}, map);
}

}  // namespace bdc::host
