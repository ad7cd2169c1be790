#include "parts/transform.h"

#include <torch/nn.h>

#include <algorithm>
#include <cmath>

#include "parts/few_numbers.h"

namespace parts {

ImageSize resized(const ImageSize& image, const TransformOptions& options) {
  if (options.min_size == 0) return image;
  const auto shorter = static_cast<float>(std::min(image.height, image.width)),
             longer = static_cast<float>(std::max(image.height, image.width));
  const float scale = std::min(static_cast<float>(options.min_size) * (1.0F / shorter),
                               static_cast<float>(options.max_size) * (1.0F / longer));
  const auto edge = [&](std::int64_t size) {
    const double length = static_cast<double>(size) * static_cast<double>(scale);
    return std::max<std::int64_t>(1, static_cast<std::int64_t>(std::floor(length)));
  };
  return {edge(image.height), edge(image.width)};
}

Tensor normalised(const Tensor& pixels) {
  const Tensor mean = few_numbers({0.485F, 0.456F, 0.406F}, pixels).view({3, 1, 1}),
               deviation = few_numbers({0.229F, 0.224F, 0.225F}, pixels).view({3, 1, 1});
  return (pixels - mean) / deviation;
}

NetworkInput transform(const Tensor& pixels, const std::vector<ImageSize>& contents, const TransformOptions& options) {
  NetworkInput out;
  std::int64_t height = 0, width = 0;
  std::vector<float> scale;
  for (const ImageSize& from : contents) {
    const ImageSize to = resized(from, options);
    out.sizes.push_back(to);
    height = std::max(height, to.height);
    width = std::max(width, to.width);
    const float x = static_cast<float>(to.width) / static_cast<float>(from.width),
                y = static_cast<float>(to.height) / static_cast<float>(from.height);
    scale.insert(scale.end(), {x, y, x, y});
  }
  const auto batch = static_cast<std::int64_t>(contents.size());
  out.scale = torch::tensor(scale).view({batch, 4}).to(pixels.device());
  const auto up = [](std::int64_t size) { return (size + 31) / 32 * 32; };
  out.pixels = torch::zeros({batch, 3, up(height), up(width)}, pixels.options());
  for (std::int64_t b = 0; b < batch; ++b) {
    const ImageSize &from = contents[static_cast<std::size_t>(b)], &to = out.sizes[static_cast<std::size_t>(b)];
    Tensor image = normalised(pixels[b].slice(1, 0, from.height).slice(2, 0, from.width));
    if (options.min_size != 0) {
      image = torch::upsample_bilinear2d(image.unsqueeze(0), {to.height, to.width}, /*align_corners=*/false)[0];
    }
    out.pixels[b].slice(1, 0, to.height).slice(2, 0, to.width).copy_(image);
  }
  return out;
}

Tensor to_network(const Tensor& boxes, const Tensor& image_index, const Tensor& scale) {
  return boxes * scale.index_select(0, image_index);
}

Tensor from_network(const Tensor& boxes, const Tensor& image_index, const Tensor& scale) {
  return boxes / scale.index_select(0, image_index);
}

}  // namespace parts
