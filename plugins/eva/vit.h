#pragma once

#include <torch/nn.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "eva/block.h"

namespace eva {

struct VitOptions {
  std::int64_t input_size = 1024;  ///< edge of the square input, pixels; other sizes work, see Rope
  std::int64_t patch = 16;         ///< edge of a token, pixels
  std::int64_t dim = 1024, depth = 24, heads = 16;
  double mlp_ratio = 4.0 * 2 / 3;  ///< width of the feed-forward layers / dim, rounded down
  std::int64_t window = 16;        ///< edge of the attention windows, tokens
  std::vector<std::int64_t> global_blocks{2, 5, 8, 11, 14, 17, 20, 23};  ///< blocks without windows, from 0
  std::int64_t pretrain_size = 224;  ///< edge of the images whose positions pos_embed holds
  std::int64_t pretrain_grid = 16;   ///< edge of the grid of tokens whose angles the rotary embedding spans
  double drop_path = 0;              ///< of the last block; grows evenly from 0 in the first
  double layer_scale = 0;            ///< see BlockOptions
  bool recompute = false;            ///< activation checkpointing: one block's inner results at a time
};

/// Throws std::invalid_argument, naming the option, unless they go together.
void check_options(const VitOptions& options);

/// EVA-02's plain vision transformer. Parameter names are those of the official detection checkpoints.
class Vit : public torch::nn::Module {
 public:
  /// Weights are drawn from LibTorch's default generator. Throws std::invalid_argument for impossible options.
  explicit Vit(const VitOptions& options);

  /// pixels: B x 3 x H x W, normalised; H and W multiples of the patch. Gives B x dim x H/patch x W/patch.
  /// `watch` gets "patch_embed", "after_pos_embed", "block<k>.attn", "block<k>.mlp" and "block<k>", channels last.
  [[nodiscard]] Tensor forward(const Tensor& pixels, const Watch& watch = {});

 private:
  VitOptions options_;
  Tensor pos_embed_;
  torch::nn::Conv2d proj_{nullptr};
  std::vector<std::shared_ptr<Block>> blocks_;
};

/// pos_embed, 1 x (1 + n * n) x C, the first being that of the class token, resized to 1 x height x width x C
/// (bicubic).
[[nodiscard]] Tensor positions(const Tensor& pos_embed, std::int64_t height, std::int64_t width);

}  // namespace eva
