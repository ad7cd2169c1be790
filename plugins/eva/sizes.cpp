#include "eva/sizes.h"

#include <cctype>
#include <limits>
#include <stdexcept>

namespace eva {
namespace {

using bdc::plugin::bool_option;
using bdc::plugin::int_option;
using bdc::plugin::number_option;
using bdc::plugin::string_option;

/// EVA-02's sizes. Drop path and layer decay of b and l are those of the official detection configs.
struct Size {
  const char* name;
  std::int64_t dim, depth, heads;
  double drop_path, layer_decay;
};
constexpr Size kSizes[] = {{"ti", 192, 12, 3, 0.0, 0.7},
                           {"s", 384, 12, 6, 0.1, 0.7},
                           {"b", 768, 12, 12, 0.1, 0.7},
                           {"l", 1024, 24, 16, 0.3, 0.8}};

const Size& size_of(const std::string& name) {
  for (const Size& s : kSizes) {
    if (name == s.name) return s;
  }
  throw std::invalid_argument("option 'size': expected ti, s, b or l, found '" + name + "'");
}

std::vector<std::int64_t> numbers_of(const std::string& text) {
  std::vector<std::int64_t> out;
  std::size_t at = 0;
  while (at < text.size()) {
    if (text[at] == ',' || std::isspace(static_cast<unsigned char>(text[at])) != 0) {
      ++at;
      continue;
    }
    const std::size_t from = at;
    while (at < text.size() && std::isdigit(static_cast<unsigned char>(text[at])) != 0) ++at;
    if (at == from || at - from > 6) {
      throw std::invalid_argument("option 'global_blocks': expected block numbers such as '2,5,8', found '" + text +
                                  "'");
    }
    out.push_back(std::stoll(text.substr(from, at - from)));
  }
  return out;
}

}  // namespace

std::vector<bdc::plugin::OptionSpec> option_specs() {
  const NetworkOptions net;
  const LossOptions loss;
  return {
      string_option("size", "l", "ti, s, b or l: embed_dim 192, 384, 768, 1024", {"ti", "s", "b", "l"}),
      int_option("embed_dim", 0, "width of the transformer, a multiple of 4 * heads; 0: from size", 0, 8192),
      int_option("depth", 0, "its blocks; 0: from size", 0, 200),
      int_option("heads", 0, "its attention heads; 0: from size", 0, 256),
      int_option("patch", net.vit.patch,
                 "edge of a token in pixels, a power of 2; input edges are multiples of twice it", 4, 64),
      int_option("window", net.vit.window, "edge of the attention windows in tokens", 1, 64),
      string_option("global_blocks", "", "blocks that attend to all tokens, from 0, such as 2,5,8; empty: every third"),
      number_option("mlp_ratio", net.vit.mlp_ratio, "width of the feed-forward layers / embed_dim", 0.25, 16),
      int_option("pretrain_size", net.vit.pretrain_size,
                 "edge in pixels of the images whose positions pos_embed holds; resized to the input", 4, 8192),
      int_option("pretrain_grid", net.vit.pretrain_grid,
                 "edge of the grid of tokens whose angles the rotary embedding spans", 1, 1024),
      number_option("drop_path", -1, "share of images that skip a branch of the last block; -1: from size", -1, 0.95),
      number_option("layer_scale", 0, "initial value of a learnt factor on every branch; 0: none", 0, 10),
      bool_option("activation_checkpointing", false,
                  "keep one block's activations at a time and recompute the others: less memory, more time"),
      int_option("pyramid_channels", net.pyramid_channels, "channels of the pyramid and of the heads", 4, 4096),
      int_option("rpn_convs", net.rpn_convs, "3 x 3 convolutions of the proposal head", 1, 16),
      int_option("head_convs", net.head_convs, "3 x 3 convolutions of a cascade stage", 0, 16),
      int_option("head_width", net.head_width, "width of a cascade stage's fully connected layer", 4, 16384),
      int_option("train_proposals", loss.proposals.after_suppression, "proposals per image in training", 1, 100000),
      int_option("test_proposals", 1000, "proposals per image in predictions", 1, 100000),
      int_option("anchors_per_image", loss.rpn.sampler.per_image, "anchors sampled for the proposal loss", 1, 100000),
      int_option("regions_per_image", loss.regions.sampler.per_image, "regions sampled for the cascade's loss", 1,
                 100000),
      number_option("layer_decay", -1,
                    "learning rate of a block / that of the block after it; the embeddings come before the first, all "
                    "else after the last; -1: from size",
                    -1, 1)};
}

Settings settings_of(const bdc::plugin::DetectorConfig& config) {
  const auto& o = config.options;
  const Size& size = size_of(o.get_string("size"));
  const auto or_size = [&](const char* name, std::int64_t usual) {
    return o.get_int(name) > 0 ? o.get_int(name) : usual;
  };
  const auto share_or_size = [&](const char* name, double usual) {
    const double given = o.get_number(name);
    if (given < 0 && given != -1) {
      throw std::invalid_argument(std::string("option '") + name +
                                  "': expected -1 (from size) or a number of at least 0, found " +
                                  std::to_string(given));
    }
    return given < 0 ? usual : given;
  };
  Settings out;
  VitOptions& vit = out.network.vit;
  vit.input_size = config.input_size;
  vit.patch = o.get_int("patch");
  vit.dim = or_size("embed_dim", size.dim);
  vit.depth = or_size("depth", size.depth);
  vit.heads = or_size("heads", size.heads);
  vit.mlp_ratio = o.get_number("mlp_ratio");
  vit.window = o.get_int("window");
  vit.global_blocks = numbers_of(o.get_string("global_blocks"));
  if (vit.global_blocks.empty()) {
    for (std::int64_t i = 2; i < vit.depth; i += 3) vit.global_blocks.push_back(i);
  }
  vit.pretrain_size = o.get_int("pretrain_size");
  vit.pretrain_grid = o.get_int("pretrain_grid");
  vit.drop_path = share_or_size("drop_path", size.drop_path);
  vit.layer_scale = o.get_number("layer_scale");
  vit.recompute = o.get_bool("activation_checkpointing");
  out.network.classes = config.num_classes;
  out.network.pyramid_channels = o.get_int("pyramid_channels");
  out.network.rpn_convs = o.get_int("rpn_convs");
  out.network.head_convs = o.get_int("head_convs");
  out.network.head_width = o.get_int("head_width");
  out.loss.proposals.after_suppression = o.get_int("train_proposals");
  out.loss.proposals.before_suppression = 2 * o.get_int("train_proposals");
  out.test_proposals = out.loss.proposals;
  out.test_proposals.after_suppression = out.test_proposals.before_suppression = o.get_int("test_proposals");
  out.loss.rpn.sampler.per_image = o.get_int("anchors_per_image");
  out.loss.regions.sampler.per_image = o.get_int("regions_per_image");
  out.layer_decay = share_or_size("layer_decay", size.layer_decay);
  if (out.layer_decay == 0) throw std::invalid_argument("option 'layer_decay': expected a number above 0, found 0");
  return out;
}

}  // namespace eva
