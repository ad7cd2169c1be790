#pragma once

/// Rotary position embedding of a grid of tokens. Of the d numbers of a head, the first half turns with the token's
/// row, the second half with its column, in pairs (2j, 2j + 1) by the angle
///   position * trained_edge / edge / 10000^(4j / d),   j = 0 .. d/4 - 1 in each half,
/// so that a grid of any size spans the angles of the grid the weights were trained on.

#include <torch/nn.h>

#include <cstdint>

namespace eva {

using torch::Tensor;

class Rope : public torch::nn::Module {
 public:
  /// head_dim: a multiple of 4. edge: tokens along the side of the square grid. Buffers freqs_cos and freqs_sin,
  /// (edge * edge) x head_dim, row by row.
  Rope(std::int64_t head_dim, std::int64_t trained_edge, std::int64_t edge);

  /// Angles of a height x width grid as unit complex numbers, (height * width) x head_dim/2. Where the grid is not the
  /// one this was built for, a token keeps the angle of its row and column.
  [[nodiscard]] Tensor turns(std::int64_t height, std::int64_t width) const;

 private:
  std::int64_t head_dim_, trained_edge_, edge_;
  Tensor cos_, sin_;
};

/// x: ... x tokens x head_dim, turned by `turns`, tokens x head_dim/2.
[[nodiscard]] Tensor rotate(const Tensor& x, const Tensor& turns);

}  // namespace eva
