#include "parts/anchors.h"

#include <torch/nn.h>

#include <stdexcept>

namespace parts {

Tensor cell_anchors(const AnchorOptions& options, std::size_t level) {
  const Tensor size = torch::tensor(options.sizes.at(level), torch::kFloat64).to(torch::kFloat32);
  const Tensor tall = torch::tensor(options.ratios, torch::kFloat64).to(torch::kFloat32).sqrt();
  const Tensor w = ((1 / tall).unsqueeze(1) * size).flatten(), h = (tall.unsqueeze(1) * size).flatten();
  const Tensor out = torch::stack({-w, -h, w, h}, 1) / 2;
  return options.rounded ? out.round() : out;
}

Tensor grid_anchors(const AnchorOptions& options, const std::vector<ImageSize>& grids,
                    const std::vector<Stride>& strides, const torch::Device& device) {
  if (grids.size() != options.sizes.size() || strides.size() != grids.size()) {
    throw std::invalid_argument("anchors: " + std::to_string(options.sizes.size()) + " levels have sizes, but " +
                                std::to_string(grids.size()) + " levels of features were given");
  }
  std::vector<Tensor> levels;
  for (std::size_t l = 0; l < grids.size(); ++l) {
    const Tensor x = (torch::arange(grids[l].width, torch::kInt64) * strides[l].x).to(torch::kFloat32);
    const Tensor y = (torch::arange(grids[l].height, torch::kInt64) * strides[l].y).to(torch::kFloat32);
    const Tensor xs = x.unsqueeze(0).expand({y.size(0), x.size(0)}), ys = y.unsqueeze(1).expand_as(xs);
    const Tensor centres = torch::stack({xs, ys, xs, ys}, 2).view({-1, 1, 4});
    levels.push_back((centres + cell_anchors(options, l).unsqueeze(0)).view({-1, 4}));
  }
  return torch::cat(levels).to(device);
}

std::vector<Stride> strides_of(const ImageSize& input, const std::vector<ImageSize>& grids) {
  std::vector<Stride> out;
  for (const ImageSize& grid : grids) out.push_back({input.height / grid.height, input.width / grid.width});
  return out;
}

}  // namespace parts
