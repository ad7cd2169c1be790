#include "frcnn/network.h"

#include "parts/modules.h"

namespace frcnn {
namespace {

torch::nn::Linear linear(torch::nn::Module& parent, const std::string& name, std::int64_t in, std::int64_t out) {
  torch::nn::Linear made(in, out);
  parts::register_at(parent, name, made.ptr());
  return made;
}

}  // namespace

const std::vector<std::int64_t>& pooled_strides() {
  static const std::vector<std::int64_t> strides{4, 8, 16, 32};
  return strides;
}

Network::Network(std::int64_t num_classes, const NetworkOptions& options)
    : ProposalNetwork(options), pool_(options.pool) {
  const std::int64_t edge = options.pool.output_size, wide = options.head_channels;
  fc6_ = linear(*this, "roi_heads.box_head.fc6", options.pyramid_channels * edge * edge, wide);
  fc7_ = linear(*this, "roi_heads.box_head.fc7", wide, wide);
  classes_ = linear(*this, "roi_heads.box_predictor.cls_score", wide, num_classes + 1);
  boxes_ = linear(*this, "roi_heads.box_predictor.bbox_pred", wide, 4 * (num_classes + 1));
}

parts::RoiPool::Pooled Network::pool(const Scene& scene, const Tensor& boxes, const Tensor& image) const {
  return pool_.pool({scene.features.begin(), scene.features.begin() + 4}, pooled_strides(), boxes, image);
}

Tensor Network::head(const Tensor& pooled) {
  return fc7_(fc6_(pooled.flatten(1)).relu_()).relu_();
}

RegionOutputs Network::look(const Scene& scene, const Tensor& boxes, const Tensor& image) {
  const auto pooled = pool(scene, boxes, image);
  const Tensor seen = head(pooled.features);
  return {parts::at_least_float32(pooled.in_order(classes_(seen))),
          parts::at_least_float32(pooled.in_order(boxes_(seen)))};
}

}  // namespace frcnn
