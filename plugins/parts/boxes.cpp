#include "parts/boxes.h"

#include <torch/nn.h>

namespace parts {

Tensor iou_matrix(const Tensor& a, const Tensor& b) {
  const auto area = [](const Tensor& t) {
    return (t.select(1, 2) - t.select(1, 0)) * (t.select(1, 3) - t.select(1, 1));
  };
  const auto overlap = [&](std::int64_t low, std::int64_t high) {
    const Tensor to = torch::min(a.select(1, high).unsqueeze(1), b.select(1, high).unsqueeze(0));
    const Tensor from = torch::max(a.select(1, low).unsqueeze(1), b.select(1, low).unsqueeze(0));
    return (to - from).clamp_min_(0);
  };
  const Tensor inter = overlap(0, 2).mul_(overlap(1, 3));
  return inter / (area(a).unsqueeze(1) + area(b).unsqueeze(0)).sub_(inter);
}

Tensor clip_to_image(const Tensor& boxes, const ImageSize& image) {
  const auto x = [&](std::int64_t i) { return boxes.select(-1, i).clamp(0, image.width); };
  const auto y = [&](std::int64_t i) { return boxes.select(-1, i).clamp(0, image.height); };
  return torch::stack({x(0), y(1), x(2), y(3)}, -1);
}

Tensor rows_not_smaller(const Tensor& boxes, double min_size) {
  const Tensor size = boxes.slice(1, 2, 4) - boxes.slice(1, 0, 2);
  return (size >= min_size).all(1).nonzero().squeeze(1);
}

std::vector<std::int64_t> image_begin(const Tensor& image_index, std::int64_t batch) {
  std::vector<std::int64_t> begin(static_cast<std::size_t>(batch) + 1, 0);
  const Tensor images = image_index.to(torch::kCPU).contiguous();
  const auto* image = images.data_ptr<std::int64_t>();
  for (std::int64_t i = 0; i < images.numel(); ++i) ++begin.at(static_cast<std::size_t>(image[i]) + 1);
  for (std::size_t b = 1; b < begin.size(); ++b) begin[b] += begin[b - 1];
  return begin;
}

}  // namespace parts
