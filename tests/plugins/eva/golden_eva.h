#pragma once

/// Reads eva.json and rebuilds its networks.

#include <algorithm>
#include <string>

#include "eva/sizes.h"
#include "support/golden_rules.h"

namespace eva_golden {

using golden::json;
using torch::Tensor;

inline const json& file() {
  static const json golden = golden::file("eva.json");
  return golden;
}

/// "4*2/3", or a number.
inline double product(const json& given) {
  if (given.is_number()) return given;
  const std::string text = given;
  double out = std::stod(text);
  for (std::size_t at = text.find_first_of("*/"); at != std::string::npos; at = text.find_first_of("*/", at + 1)) {
    const double next = std::stod(text.substr(at + 1));
    out = text[at] == '*' ? out * next : out / next;
  }
  return out;
}

/// Everything that the file's config says. The samplers take the first ones, as the original was made to.
inline eva::Settings settings() {
  const json& config = file().at("config");
  eva::Settings out;
  eva::VitOptions& vit = out.network.vit;
  vit.input_size = config.at("img_size");
  vit.patch = config.at("patch_size");
  vit.dim = config.at("embed_dim");
  vit.depth = config.at("depth");
  vit.heads = config.at("num_heads");
  vit.mlp_ratio = product(config.at("mlp_ratio"));
  vit.window = config.at("window_size");
  vit.pretrain_size = config.at("pretrain_img_size");
  vit.pretrain_grid = config.at("pt_hw_seq_len");
  vit.drop_path = config.at("drop_path_rate");
  const auto windows = golden::integers(config.at("window_block_indexes"));
  vit.global_blocks.clear();
  for (std::int64_t block = 0; block < vit.depth; ++block) {
    if (std::find(windows.begin(), windows.end(), block) == windows.end()) vit.global_blocks.push_back(block);
  }
  out.network.classes = config.at("num_classes");
  out.network.pyramid_channels = config.at("out_channels");
  out.network.rpn_convs = static_cast<std::int64_t>(golden::numbers_in(config.at("rpn_head")).at(0));
  out.network.head_convs = static_cast<std::int64_t>(golden::numbers_in(config.at("box_head")).at(0));
  out.network.head_width = config.at("fc_dim");

  const auto proposals = [&](parts::ProposalOptions& options, std::size_t when) {
    options.before_suppression = config.at("pre_nms_topk").at(when);
    options.after_suppression = config.at("post_nms_topk").at(when);
    options.nms_iou = config.at("rpn_nms_thresh");
  };
  proposals(out.loss.proposals, 0);
  out.test_proposals = out.loss.proposals;
  proposals(out.test_proposals, 1);
  const auto first = [](std::int64_t n) { return torch::arange(n, torch::kInt64); };
  out.loss.rpn.sampler = {config.at("rpn_batch"), config.at("rpn_positive_fraction"), first};
  out.loss.regions.sampler = {config.at("roi_batch"), config.at("roi_positive_fraction"), first};
  return out;
}

/// The limits of its detections.
inline bdc::plugin::DecodeOptions detection_limits() {
  const json& config = file().at("config");
  return {config.at("test_score_thresh"), config.at("test_nms_thresh"), config.at("test_topk_per_image")};
}

}  // namespace eva_golden
