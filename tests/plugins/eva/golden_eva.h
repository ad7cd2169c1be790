#pragma once

/// Reads tests/golden/detectors/eva.json and rebuilds its networks.

#include <string>

#include "eva/loss.h"
#include "support/golden_rules.h"

namespace eva_golden {

using golden::json;
using torch::Tensor;

/// The transformer of the file.
inline eva::VitOptions vit_options(const json& golden) {
  const json& config = golden.at("config");
  eva::VitOptions out;
  out.input_size = config.at("img_size");
  out.patch = config.at("patch_size");
  out.dim = config.at("embed_dim");
  out.depth = config.at("depth");
  out.heads = config.at("num_heads");
  out.window = config.at("window_size");
  out.pretrain_size = config.at("pretrain_img_size");
  out.pretrain_grid = config.at("pt_hw_seq_len");
  out.global_blocks = {2};  // all but window_block_indexes
  return out;
}

/// The whole detector of the file.
inline eva::NetworkOptions network_options(const json& golden) {
  const json& config = golden.at("config");
  eva::NetworkOptions out;
  out.vit = vit_options(golden);
  out.classes = config.at("num_classes");
  out.pyramid_channels = config.at("out_channels");
  out.head_width = config.at("fc_dim");
  return out;
}

inline const json& file() {
  static const json golden = golden::file("eva.json");
  return golden;
}

}  // namespace eva_golden
