#include "yolov7/heads.h"

#include <torch/nn.h>

namespace yolov7 {

Place place_of(const Level& level, const Tensor& rows) {
  const auto over = [](const Tensor& t, std::int64_t by) { return torch::floor_divide(t, by); };
  const Tensor line = over(rows, level.width), plane = over(line, level.height), image = over(plane, 3);
  const Tensor x = rows - line * level.width, y = line - plane * level.height, anchor = plane - image * 3;
  return {image, torch::stack({x, y}, 1).to(level.raw.scalar_type()), level.anchors.index_select(0, anchor)};
}

Tensor boxes_of(const Level& level, const Tensor& raw, const Place& place) {
  const Tensor s = raw.slice(1, 0, 4).sigmoid() * 2;
  return torch::cat({(s.slice(1, 0, 2) - 0.5 + place.cell) * level.stride, s.slice(1, 2, 4).square() * place.anchor},
                    1);
}

Tensor to_corners(const Tensor& boxes) {
  const Tensor centre = boxes.slice(1, 0, 2), half = boxes.slice(1, 2, 4) / 2;
  return torch::cat({centre - half, centre + half}, 1);
}

Tensor to_centres(const Tensor& boxes) {
  const Tensor low = boxes.slice(1, 0, 2), high = boxes.slice(1, 2, 4);
  return torch::cat({(low + high) / 2, high - low}, 1);
}

}  // namespace yolov7
