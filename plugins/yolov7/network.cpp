#include "yolov7/network.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

namespace yolov7 {
namespace {

std::int64_t scaled(std::int64_t channels, double width) {
  return static_cast<std::int64_t>(std::ceil(static_cast<double>(channels) * width / 8.0)) * 8;
}

}  // namespace

Network::Network(const LayerTable& table, std::int64_t num_classes, double width, double depth,
                 const std::vector<double>& anchors) {
  const auto model = register_module("model", std::make_shared<torch::nn::Module>());
  const auto times = std::max<std::int64_t>(1, std::llround(depth));
  std::vector<std::int64_t> channels;
  for (std::size_t n = 0; n < table.layers.size(); ++n) {
    const LayerSpec& spec = table.layers[n];
    std::vector<std::size_t> inputs;
    for (const int from : spec.from)
      inputs.push_back(from < 0 ? n - static_cast<std::size_t>(-from) : static_cast<std::size_t>(from));
    const std::int64_t in = n == 0 ? 3 : channels[inputs[0]];
    const std::int64_t wanted = scaled(spec.channels, width);
    const std::string name = std::to_string(n);
    std::shared_ptr<Layer> layer;
    std::int64_t out = in;
    switch (spec.kind) {
      case Kind::conv:
        out = wanted;
        if (spec.repeated_by_depth && times > 1) {
          layer = std::make_shared<ConvChain>(in, out, spec.kernel, times, table.activation);
        } else {
          layer = std::make_shared<Conv>(in, out, spec.kernel, spec.stride, table.activation);
        }
        break;
      case Kind::rep_conv:
        out = wanted;
        layer = std::make_shared<RepConv>(in, out);
        break;
      case Kind::sppcspc:
        out = wanted;
        layer = std::make_shared<Sppcspc>(in, out, table.activation);
        break;
      case Kind::concat:
        out = 0;
        for (const std::size_t i : inputs) out += channels[i];
        layer = std::make_shared<Concat>();
        break;
      case Kind::max_pool:
        layer = std::make_shared<Pool>(spec.kernel, 2);
        break;
      case Kind::same_pool:
        layer = std::make_shared<Pool>(spec.kernel, 1);
        break;
      case Kind::upsample:
        layer = std::make_shared<Upsample>();
        break;
      case Kind::detect: {
        std::vector<std::int64_t> widths;
        for (const std::size_t i : inputs) widths.push_back(channels[i]);
        detect_ = model->register_module(name, std::make_shared<Detect>(num_classes, widths, anchors));
        levels_ = inputs;
        break;
      }
    }
    channels.push_back(out);
    if (!layer) continue;
    model->register_module(name, layer);
    if (n == 0) inputs.clear();  // reads the image
    nodes_.push_back({layer, inputs});
  }
  if (!detect_) throw std::invalid_argument("yolov7: the layer table has no head");
  last_user_.assign(nodes_.size(), 0);
  for (std::size_t n = 0; n < nodes_.size(); ++n) {
    for (const std::size_t i : nodes_[n].inputs) last_user_[i] = n;
  }
  for (const std::size_t i : levels_) last_user_[i] = nodes_.size();
}

std::unique_ptr<Heads> Network::forward(const Tensor& pixels, const Watch& watch) {
  if (pixels.dim() != 4 || pixels.size(1) != 3 || pixels.size(2) % 32 != 0 || pixels.size(3) % 32 != 0) {
    throw std::invalid_argument("yolov7: images must be B x 3 x H x W with H and W multiples of 32");
  }
  // Channels last is faster forward, but slower backward and less exact in the statistics of batch norms.
  const bool trains = is_training() || torch::GradMode::is_enabled();
  const Tensor input = trains ? pixels : pixels.contiguous(at::MemoryFormat::ChannelsLast);
  std::vector<Tensor> outputs(nodes_.size());
  for (std::size_t n = 0; n < nodes_.size(); ++n) {
    std::vector<Tensor> inputs;
    if (n == 0) inputs.push_back(input);
    for (const std::size_t i : nodes_[n].inputs) inputs.push_back(outputs[i]);
    outputs[n] = nodes_[n].layer->run(inputs);
    if (watch) watch(n, outputs[n]);
    for (const std::size_t i : nodes_[n].inputs) {
      if (last_user_[i] == n) outputs[i] = Tensor();
    }
  }
  std::vector<Tensor> inputs;
  for (const std::size_t i : levels_) inputs.push_back(outputs[i]);
  outputs.clear();
  const std::vector<Tensor> raw = detect_->run(inputs);
  auto heads = std::make_unique<Heads>();
  heads->batch = pixels.size(0);
  heads->input_height = pixels.size(2);
  heads->input_width = pixels.size(3);
  for (std::size_t level = 0; level < 3; ++level) {
    const Tensor& t = raw[level];
    heads->levels.push_back({t.view({-1, t.size(4)}).to(torch::kFloat32),  // in half precision, too
                             t.size(2), t.size(3), kStrides[level], detect_->anchor_pixels(level)});
  }
  return heads;
}

void Network::fuse() {
  for (const Node& node : nodes_) node.layer->fuse();
  detect_->fuse();
}

}  // namespace yolov7
