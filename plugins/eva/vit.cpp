#include "eva/vit.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

#include "eva/recompute.h"

namespace eva {

void check_options(const VitOptions& o) {
  const auto require = [](bool ok, const std::string& option, const std::string& expected, const std::string& found) {
    if (!ok) throw std::invalid_argument("option '" + option + "': expected " + expected + ", found " + found);
  };
  const auto text = [](auto number) { return std::to_string(number); };
  require(o.dim > 0 && o.depth > 0 && o.heads > 0 && o.dim % (4 * o.heads) == 0, "embed_dim",
          "a multiple of 4 x heads, " + text(4 * o.heads), text(o.dim));
  if (o.patch <= 0 || o.input_size % (2 * o.patch) != 0) {
    throw std::invalid_argument("input size: expected a multiple of twice the patch, " + text(2 * o.patch) +
                                ", found " + text(o.input_size));
  }
  require(o.pretrain_size >= o.patch, "pretrain_size", "at least the patch, " + text(o.patch), text(o.pretrain_size));
  require(o.window > 0, "window", "a number above 0", text(o.window));
  require(o.pretrain_grid > 0, "pretrain_grid", "a number above 0", text(o.pretrain_grid));
  for (const auto b : o.global_blocks) {
    require(b >= 0 && b < o.depth, "global_blocks", "blocks from 0 to " + text(o.depth - 1), text(b));
  }
  require(o.drop_path >= 0 && o.drop_path < 1, "drop_path", "a number from 0 to 1, below 1", text(o.drop_path));
}
Tensor positions(const Tensor& pos_embed, std::int64_t height, std::int64_t width) {
  const Tensor grid = pos_embed.slice(1, 1);
  const auto edge = static_cast<std::int64_t>(std::llround(std::sqrt(static_cast<double>(grid.size(1)))));
  const Tensor square = grid.reshape({1, edge, edge, -1});
  if (height == edge && width == edge) return square;
  return torch::upsample_bicubic2d(square.permute({0, 3, 1, 2}), {height, width}, /*align_corners=*/false, c10::nullopt,
                                   c10::nullopt)
      .permute({0, 2, 3, 1});
}

Vit::Vit(const VitOptions& options) : options_(options) {
  check_options(options);
  const std::int64_t edge = options.pretrain_size / options.patch;
  pos_embed_ = register_parameter("pos_embed", torch::empty({1, edge * edge + 1, options.dim}));
  const auto patch_embed = register_module("patch_embed", std::make_shared<torch::nn::Module>());
  proj_ = patch_embed->register_module(
      "proj", torch::nn::Conv2d(torch::nn::Conv2dOptions(3, options.dim, options.patch).stride(options.patch)));
  const std::int64_t head_dim = options.dim / options.heads;
  const auto of_windows =
      register_module("rope_win", std::make_shared<Rope>(head_dim, options.pretrain_grid, options.window));
  const auto of_all = register_module(
      "rope_glb", std::make_shared<Rope>(head_dim, options.pretrain_grid, options.input_size / options.patch));
  const auto blocks = register_module("blocks", std::make_shared<torch::nn::Module>());
  const auto& global = options.global_blocks;
  for (std::int64_t i = 0; i < options.depth; ++i) {
    const bool windowed = std::find(global.begin(), global.end(), i) == global.end();
    BlockOptions block;
    block.dim = options.dim;
    block.heads = options.heads;
    block.hidden = static_cast<std::int64_t>(static_cast<double>(options.dim) * options.mlp_ratio);
    block.window = windowed ? options.window : 0;
    block.drop_path = options.depth > 1
                          ? options.drop_path * static_cast<double>(i) / static_cast<double>(options.depth - 1)
                          : options.drop_path;
    block.layer_scale = options.layer_scale;
    blocks_.push_back(
        blocks->register_module(std::to_string(i), std::make_shared<Block>(block, windowed ? of_windows : of_all)));
  }
  torch::NoGradGuard no_grad;
  pos_embed_.normal_(0, 0.02);
  for (auto& item : blocks_) {
    for (auto& p : item->named_parameters()) {
      if (p.value().dim() == 2) p.value().normal_(0, 0.02);
      if (p.value().dim() == 1 && p.key().find("mlp.w") == 0) p.value().zero_();
      if (p.key() == "attn.proj.bias") p.value().zero_();
    }
  }
}

Tensor Vit::forward(const Tensor& pixels, const Watch& watch) {
  if (pixels.dim() != 4 || pixels.size(1) != 3 || pixels.size(2) % options_.patch != 0 ||
      pixels.size(3) % options_.patch != 0) {
    throw std::invalid_argument("eva: images must be B x 3 x H x W with H and W multiples of " +
                                std::to_string(options_.patch));
  }
  Tensor x = proj_->forward(pixels).permute({0, 2, 3, 1});
  if (watch) watch("patch_embed", x);
  x = x + positions(pos_embed_, x.size(1), x.size(2));
  if (watch) watch("after_pos_embed", x);
  for (std::size_t k = 0; k < blocks_.size(); ++k) {
    const std::shared_ptr<Block>& block = blocks_[k];
    const std::string name = "block" + std::to_string(k);
    if (options_.recompute) {
      x = recomputed([block](const Tensor& in) { return block->forward(in); }, x, block->parameters(),
                     block->draws_random_numbers());
    } else {
      Watch inside;
      if (watch) inside = [&](const std::string& what, const Tensor& t) { watch(name + "." + what, t); };
      x = block->forward(x, inside);
    }
    if (watch) watch(name, x);
  }
  return x.permute({0, 3, 1, 2});
}

}  // namespace eva
