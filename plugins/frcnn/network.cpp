#include "frcnn/network.h"

#include <stdexcept>

#include "two_stage/modules.h"

namespace frcnn {
namespace {

torch::nn::Linear linear(torch::nn::Module& parent, const std::string& name, std::int64_t in, std::int64_t out) {
  torch::nn::Linear made(in, out);
  two_stage::register_at(parent, name, made.ptr());
  return made;
}

}  // namespace

const std::vector<std::int64_t>& pooled_strides() {
  static const std::vector<std::int64_t> strides{4, 8, 16, 32};
  return strides;
}

Network::Network(std::int64_t num_classes, const NetworkOptions& options) : options_(options) {
  if (options.anchors.sizes.size() != 5) {
    throw std::invalid_argument("frcnn: anchors for " + std::to_string(options.anchors.sizes.size()) +
                                " levels, expected 5");
  }
  body_ = two_stage::register_at(*this, "backbone.body", std::make_shared<ResNet>(options.backbone));
  body_->train_last(options.trainable_layers);
  pyramid_ = two_stage::register_at(
      *this, "backbone.fpn", std::make_shared<two_stage::FeaturePyramid>(body_->channels(), options.pyramid_channels));
  rpn_ = two_stage::register_at(
      *this, "rpn.head", std::make_shared<two_stage::RpnHead>(options.pyramid_channels, options.anchors.per_cell()));
  const std::int64_t edge = options.pool.output_size, wide = options.head_channels;
  fc6_ = linear(*this, "roi_heads.box_head.fc6", options.pyramid_channels * edge * edge, wide);
  fc7_ = linear(*this, "roi_heads.box_head.fc7", wide, wide);
  classes_ = linear(*this, "roi_heads.box_predictor.cls_score", wide, num_classes + 1);
  boxes_ = linear(*this, "roi_heads.box_predictor.bbox_pred", wide, 4 * (num_classes + 1));
}

NetworkInput Network::input(const Tensor& pixels, const std::vector<ImageSize>& contents) const {
  return transform(pixels, contents, options_.transform);
}

std::unique_ptr<Scene> Network::forward(const Tensor& pixels, const std::vector<ImageSize>& contents) {
  NetworkInput in = input(pixels, contents);
  auto scene = std::make_unique<Scene>();
  scene->features = pyramid_->forward(body_->forward(in.pixels));
  for (Tensor& level : scene->features) level = two_stage::at_least_float32(level);
  std::vector<ImageSize> grids;
  for (const Tensor& level : scene->features) grids.push_back({level.size(2), level.size(3)});
  const Tensor anchors = two_stage::grid_anchors(
      options_.anchors, grids, two_stage::strides_of({in.pixels.size(2), in.pixels.size(3)}, grids), pixels.device());
  scene->rpn = two_stage::flatten(rpn_->forward(scene->features), anchors);
  scene->sizes = std::move(in.sizes);
  scene->scale = in.scale;
  return scene;
}

two_stage::RoiPool::Pooled Network::pool(const Scene& scene, const Tensor& boxes, const Tensor& image) const {
  return options_.pool.pool({scene.features.begin(), scene.features.begin() + 4}, pooled_strides(), boxes, image);
}

Tensor Network::head(const Tensor& pooled) {
  return fc7_(fc6_(pooled.flatten(1)).relu_()).relu_();
}

RegionOutputs Network::look(const Scene& scene, const Tensor& boxes, const Tensor& image) {
  const auto pooled = pool(scene, boxes, image);
  const Tensor seen = head(pooled.features);
  return {two_stage::at_least_float32(pooled.in_order(classes_(seen))),
          two_stage::at_least_float32(pooled.in_order(boxes_(seen)))};
}

}  // namespace frcnn
