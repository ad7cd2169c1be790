#include "synth/random_box.h"

namespace bdc::host {

Box whole_pixels(const Box& b) {
  return {std::nearbyint(b.x1), std::nearbyint(b.y1), std::nearbyint(b.x2), std::nearbyint(b.y2)};
}

Box random_box(double width, double height, Random& random) {
  const double w = random.uniform(0.08, 0.6) * width, h = random.uniform(0.08, 0.6) * height;
  const double x = random.uniform(0, width - w), y = random.uniform(0, height - h);
  Box out = whole_pixels({x, y, x + w, y + h});
  out.x2 = std::max(out.x2, out.x1 + 1);  // an image of a few pixels
  out.y2 = std::max(out.y2, out.y1 + 1);
  return out;
}

}  // namespace bdc::host
