#include "data/mosaic.h"

#include <algorithm>
#include <cmath>

#include "bdc/base/random.h"
#include "data/pixels.h"

namespace bdc::host {

MosaicPlan draw_mosaic(double probability, std::uint64_t seed, std::int64_t epoch, std::int64_t index,
                       std::int64_t count) {
  Random of_epoch(seed, 5, static_cast<std::uint64_t>(epoch));
  Random random(of_epoch.next(), 9, static_cast<std::uint64_t>(index));
  MosaicPlan plan;
  plan.used = random.uniform() < probability;
  plan.x = random.uniform(0.3, 0.7);
  plan.y = random.uniform(0.3, 0.7);
  for (std::size_t q = 0; q < 4; ++q) {
    plan.images[q] = random.below(count);
    plan.fill[q] = random.uniform();
  }
  plan.images[static_cast<std::size_t>(random.below(4))] = index;
  return plan;
}

MosaicTile mosaic_tile(const MosaicPlan& plan, std::size_t quarter, const Augmentation& augmentation, double width,
                       double height, std::int64_t input_size) {
  const double size = static_cast<double>(input_size), x = std::round(plan.x * size), y = std::round(plan.y * size);
  const bool right = quarter % 2 == 1, below = quarter >= 2;
  MosaicTile tile;
  tile.area = {right ? x : 0, below ? y : 0, right ? size : x, below ? size : y};
  const double fits = std::min(tile.area.width() / width, tile.area.height() / height),
               fills = std::max(tile.area.width() / width, tile.area.height() / height);
  const double scale = fits + plan.fill[quarter] * (std::min(fills, 2 * fits) - fits);
  const double w = width * scale, h = height * scale;
  tile.to_input =
      compose({1, 0, right ? x : x - w, 0, 1, below ? y : y - h}, augmented_map(augmentation, width, height, w, h));
  return tile;
}

void draw_tile(const cv::Mat& image, const Augmentation& augmentation, const MosaicTile& tile, cv::Mat& picture) {
  const cv::Rect area(static_cast<int>(tile.area.x1), static_cast<int>(tile.area.y1),
                      static_cast<int>(tile.area.width()), static_cast<int>(tile.area.height()));
  if (area.area() == 0) return;
  const AffineMap local = compose({1, 0, -tile.area.x1, 0, 1, -tile.area.y1}, tile.to_input);
  warp_image(image, local, augmentation, area.size()).copyTo(picture(area));
}

}  // namespace bdc::host
