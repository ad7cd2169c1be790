#include "eva/rope.h"

#include <cmath>
#include <stdexcept>

namespace eva {
namespace {

/// height x width x head_dim, every angle twice in a row.
Tensor angles(std::int64_t head_dim, std::int64_t trained_edge, std::int64_t edge, std::int64_t height,
              std::int64_t width) {
  const std::int64_t half = head_dim / 2;
  const Tensor speed =
      1.0 / torch::pow(10000.0, torch::arange(0, half, 2, torch::kFloat32) / static_cast<double>(half));
  const auto along = [&](std::int64_t count) {
    const Tensor position =
        torch::arange(count, torch::kFloat32) / static_cast<double>(edge) * static_cast<double>(trained_edge);
    return (position.unsqueeze(1) * speed.unsqueeze(0)).repeat_interleave(2, 1);
  };
  return torch::cat({along(height).unsqueeze(1).expand({height, width, half}),
                     along(width).unsqueeze(0).expand({height, width, half})},
                    2);
}

}  // namespace

Rope::Rope(std::int64_t head_dim, std::int64_t trained_edge, std::int64_t edge)
    : head_dim_(head_dim), trained_edge_(trained_edge), edge_(edge) {
  if (head_dim <= 0 || head_dim % 4 != 0) {
    throw std::invalid_argument("eva: rotary embedding needs a head width that is a multiple of 4, not " +
                                std::to_string(head_dim) + "; change embed_dim or heads");
  }
  const Tensor all = angles(head_dim, trained_edge, edge, edge, edge).reshape({edge * edge, head_dim});
  cos_ = register_buffer("freqs_cos", all.cos());
  sin_ = register_buffer("freqs_sin", all.sin());
}

Tensor Rope::turns(std::int64_t height, std::int64_t width) const {
  const auto whole = [&](const Tensor& table) {  // every second column: one of each pair
    Tensor grid = table.view({edge_, edge_, head_dim_ / 2, 2}).select(3, 0);
    grid = grid.slice(0, 0, height).slice(1, 0, width);
    return grid.reshape({height * width, head_dim_ / 2});
  };
  if (height <= edge_ && width <= edge_) return torch::complex(whole(cos_), whole(sin_));
  const Tensor beyond = angles(head_dim_, trained_edge_, edge_, height, width)
                            .view({height * width, head_dim_ / 2, 2})
                            .select(2, 0)
                            .to(cos_.device());
  return torch::complex(beyond.cos(), beyond.sin());
}

Tensor rotate(const Tensor& x, const Tensor& turns) {
  auto pairs = x.sizes().vec();
  pairs.back() /= 2;
  pairs.push_back(2);
  return torch::view_as_real(torch::view_as_complex(x.reshape(pairs)) * turns).reshape(x.sizes());
}

}  // namespace eva
