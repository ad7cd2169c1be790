#include "parts/box_coder.h"

#include <torch/nn.h>

#include "parts/few_numbers.h"

namespace parts {
namespace {

struct Centred {
  Tensor size, centre;  ///< N x 2
};

Centred centred(const Tensor& boxes) {
  const Tensor size = boxes.slice(1, 2, 4) - boxes.slice(1, 0, 2);
  return {size, boxes.slice(1, 0, 2) + 0.5 * size};
}

Tensor pair(double x, double y, const Tensor& like) {
  return few_numbers({x, y}, like);
}

}  // namespace

Tensor BoxCoder::encode(const Tensor& boxes, const Tensor& regions) const {
  const Centred to = centred(boxes), from = centred(regions);
  const Tensor shift = pair(weights[0], weights[1], boxes) * (to.centre - from.centre) / from.size;
  const Tensor growth = pair(weights[2], weights[3], boxes) * torch::log(to.size / from.size);
  return torch::cat({shift, growth}, 1);
}

Tensor BoxCoder::decode(const Tensor& codes, const Tensor& regions) const {
  const Tensor code = codes.reshape({codes.size(0), codes.size(1) / 4, 4});
  const Centred from = centred(regions.to(codes.scalar_type()));
  const Tensor size0 = from.size.unsqueeze(1), centre0 = from.centre.unsqueeze(1);
  const Tensor shift = code.slice(2, 0, 2) / pair(weights[0], weights[1], codes);
  const Tensor growth = (code.slice(2, 2, 4) / pair(weights[2], weights[3], codes)).clamp_max(clamp);
  const Tensor centre = shift * size0 + centre0, half = growth.exp() * size0 * 0.5;
  return torch::cat({centre - half, centre + half}, 2);
}

Tensor pick_codes(const Tensor& codes, const Tensor& which) {
  const std::int64_t rows = codes.size(0);
  return codes.reshape({rows, codes.size(1) / 4, 4})
      .gather(1, which.view({rows, 1, 1}).expand({rows, 1, 4}))
      .squeeze(1);
}

}  // namespace parts
