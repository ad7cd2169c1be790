#include "parts/proposal_network.h"

#include <stdexcept>

#include "parts/modules.h"

namespace parts {

ProposalNetwork::ProposalNetwork(const ProposalNetworkOptions& options)
    : anchors_(options.anchors), transform_(options.transform) {
  if (options.anchors.sizes.size() != 5) {
    throw std::invalid_argument("frcnn: anchors for " + std::to_string(options.anchors.sizes.size()) +
                                " levels, expected 5");
  }
  body_ = register_at(*this, "backbone.body", std::make_shared<ResNet>(options.backbone));
  body_->train_last(options.trainable_layers);
  pyramid_ =
      register_at(*this, "backbone.fpn", std::make_shared<FeaturePyramid>(body_->channels(), options.pyramid_channels));
  rpn_ =
      register_at(*this, "rpn.head", std::make_shared<RpnHead>(options.pyramid_channels, options.anchors.per_cell()));
}

NetworkInput ProposalNetwork::input(const Tensor& pixels, const std::vector<ImageSize>& contents) const {
  return transform(pixels, contents, transform_);
}

std::unique_ptr<Scene> ProposalNetwork::forward(const Tensor& pixels, const std::vector<ImageSize>& contents) {
  NetworkInput in = input(pixels, contents);
  // As in YOLOv7: channels last is faster forward, but not backward.
  const bool trains = is_training() || torch::GradMode::is_enabled();
  if (!trains) in.pixels = in.pixels.contiguous(at::MemoryFormat::ChannelsLast);
  auto scene = std::make_unique<Scene>();
  scene->features = pyramid_->forward(body_->forward(in.pixels));
  for (Tensor& level : scene->features) level = at_least_float32(level);
  std::vector<ImageSize> grids;
  for (const Tensor& level : scene->features) grids.push_back({level.size(2), level.size(3)});
  const Tensor anchors =
      grid_anchors(anchors_, grids, strides_of({in.pixels.size(2), in.pixels.size(3)}, grids), pixels.device());
  scene->rpn = flatten(rpn_->forward(scene->features), anchors);
  scene->sizes = std::move(in.sizes);
  scene->scale = in.scale;
  return scene;
}

}  // namespace parts
