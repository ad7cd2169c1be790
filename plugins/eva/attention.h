#pragma once

#include <torch/nn.h>

#include <cstdint>
#include <memory>

#include "eva/rope.h"

namespace eva {

/// Numbers of scores worked on at once: 64 MB.
constexpr std::int64_t kScoreBlock = std::int64_t{1} << 24;

/// softmax(q k^T / sqrt(d)) v for q, k, v of B x heads x tokens x d. LibTorch 2 brings a fused operator; with an older
/// one the scores are worked on in blocks of at most `block` numbers and worked out anew for the gradient, so memory
/// does not grow with the square of the tokens.
[[nodiscard]] Tensor attend(const Tensor& q, const Tensor& k, const Tensor& v, std::int64_t block = kScoreBlock);

/// The part of attend for LibTorch 1, under any version.
[[nodiscard]] Tensor attend_in_blocks(const Tensor& q, const Tensor& k, const Tensor& v, std::int64_t block);

/// Attention among the tokens of a grid: queries and values have a bias, keys have none, queries and keys are turned by
/// `rope`, which several layers share.
class Attention : public torch::nn::Module {
 public:
  /// dim: a multiple of heads.
  Attention(std::int64_t dim, std::int64_t heads, std::shared_ptr<Rope> rope);
  /// x: B x height x width x dim.
  [[nodiscard]] Tensor forward(const Tensor& x);

 private:
  std::int64_t heads_;
  Tensor q_bias_, v_bias_;
  torch::nn::Linear q_proj_{nullptr}, k_proj_{nullptr}, v_proj_{nullptr};
  std::shared_ptr<Rope> rope_;
  torch::nn::Linear proj_{nullptr};
};

/// A grid cut into windows, from the top left; the right and the bottom are filled with zeros.
struct Windows {
  Tensor tokens;  ///< (B * windows) x edge x edge x C; windows row by row inside an image
  std::int64_t padded_height = 0, padded_width = 0;
};
/// x: B x height x width x C.
[[nodiscard]] Windows cut_windows(const Tensor& x, std::int64_t edge);
/// The inverse: B x height x width x C.
[[nodiscard]] Tensor join_windows(const Windows& windows, std::int64_t height, std::int64_t width);

}  // namespace eva
