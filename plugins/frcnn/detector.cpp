#include "frcnn/detector.h"

#include <torch/nn.h>

#include <cmath>
#include <sstream>
#include <stdexcept>

#include "frcnn/decode.h"

namespace frcnn {
namespace {

using bdc::plugin::Activations;
using bdc::plugin::int_option;
using bdc::plugin::number_option;
using bdc::plugin::string_option;

/// Positive numbers separated by commas or spaces. Throws std::invalid_argument unless there are `least` to `most`.
std::vector<double> positive_numbers(const std::string& text, const char* option, std::size_t least, std::size_t most) {
  std::string plain = text;
  for (char& c : plain) {
    if (c == ',') c = ' ';
  }
  std::istringstream in(plain);
  std::vector<double> out;
  for (double value = 0; in >> value;) out.push_back(value);
  bool good = in.eof() && out.size() >= least && out.size() <= most;
  for (const double value : out) good = good && value > 0 && std::isfinite(value);
  if (!good) {
    const std::string count =
        least == most ? std::to_string(least) : std::to_string(least) + " to " + std::to_string(most);
    throw std::invalid_argument("option '" + std::string(option) + "': expected " + count +
                                " numbers above 0, found '" + text + "'");
  }
  return out;
}

NetworkOptions network_options(const bdc::plugin::Options& given) {
  NetworkOptions out;
  out.backbone = {given.get_string("backbone"), given.get_number("width"), norm_kind(given.get_string("norm")),
                  given.get_number("norm_eps")};
  out.trainable_layers = given.get_int("trainable_layers");
  if (out.trainable_layers < 0) out.trainable_layers = out.backbone.norm == NormKind::frozen ? 3 : 5;
  out.pyramid_channels = given.get_int("pyramid_channels");
  out.head_channels = given.get_int("head_channels");
  out.anchors.sizes.clear();
  for (const double size : positive_numbers(given.get_string("anchor_sizes"), "anchor_sizes", 5, 5)) {
    out.anchors.sizes.push_back({size});
  }
  out.anchors.ratios = positive_numbers(given.get_string("anchor_ratios"), "anchor_ratios", 1, 16);
  out.pool.canonical_size = given.get_number("pool_canonical_size");
  out.transform = {given.get_int("min_size"), given.get_int("max_size")};
  if (out.transform.min_size > out.transform.max_size) {
    throw std::invalid_argument("option 'min_size': expected at most max_size, " +
                                std::to_string(out.transform.max_size) + ", found " +
                                std::to_string(out.transform.min_size));
  }
  return out;
}

}  // namespace

bdc::plugin::DetectorInfo Detector::describe() {
  bdc::plugin::DetectorInfo info;
  info.version = "1.0.0";
  info.description = "Faster R-CNN with a ResNet and a feature pyramid, as torchvision's";
  info.input_size = 800;
  info.min_input_size = 64;
  info.stride = 32;
  info.optimizer = {"sgd", 0.001, 0.9, 0.0005, 8};
  info.detections = {0.05, 0.5, 100};
  info.capabilities = {"roi_heads", "half_precision"};
  info.options = {
      string_option("backbone", "resnet50", "resnet18, resnet34, resnet50 or resnet101",
                    {"resnet18", "resnet34", "resnet50", "resnet101"}),
      number_option("width", 1.0, "multiplies the backbone's channels", 0.1, 4.0),
      string_option("norm", "frozen", "frozen batch norm (pretrained weights), or batch or group norm that learns",
                    {"frozen", "batch", "group"}),
      number_option("norm_eps", 1e-5, "added to variances; 0 for torchvision's COCO_V1 weights", 0.0, 1.0),
      int_option("trainable_layers", -1,
                 "how many of conv1, layer1, ..., layer4 learn, from the last; -1: 3 with frozen norm, else all", -1,
                 5),
      int_option("pyramid_channels", 256, "channels of the feature pyramid", 8, 4096),
      int_option("head_channels", 1024, "width of the two layers on pooled regions", 8, 65536),
      string_option("anchor_sizes", "32, 64, 128, 256, 512", "edge of the anchors in pixels, one per level"),
      string_option("anchor_ratios", "0.5, 1, 2", "height / width of the anchors"),
      number_option("pool_canonical_size", 224, "edge of a region that is pooled from the level of stride 16", 1.0,
                    100000.0),
      int_option("min_size", 0, "shorter edge that images are resized to in the plugin; 0: not resized", 0, 10000),
      int_option("max_size", 1333, "longest edge after that", 1, 20000),
      int_option("rpn_pre_nms_train", 2000, "anchors per level that may become proposals, in the loss", 1, 1000000),
      int_option("rpn_post_nms_train", 2000, "proposals per image in the loss", 1, 1000000),
      int_option("rpn_pre_nms_test", 1000, "anchors per level that may become proposals, in predictions", 1, 1000000),
      int_option("rpn_post_nms_test", 1000, "proposals per image in predictions", 1, 1000000),
      number_option("rpn_nms", 0.7, "IoU above which the weaker of two proposals is dropped", 0.0, 1.0),
      number_option("rpn_positive_iou", 0.7, "anchors with at least this IoU are objects", 0.0, 1.0),
      number_option("rpn_negative_iou", 0.3, "anchors with a lower IoU are background", 0.0, 1.0),
      int_option("rpn_batch", 256, "anchors per image in the loss", 1, 1000000),
      number_option("rpn_positive_share", 0.5, "largest share of them that are objects", 0.0, 1.0),
      number_option("roi_iou", 0.5, "proposals with at least this IoU are objects, others background", 0.0, 1.0),
      int_option("roi_batch", 512, "proposals per image in the loss", 1, 1000000),
      number_option("roi_positive_share", 0.25, "largest share of them that are objects", 0.0, 1.0)};
  return info;
}

Detector::Detector(const bdc::plugin::DetectorConfig& config) {
  const auto& given = config.options;
  const double nms = given.get_number("rpn_nms");
  loss_options_.proposals = {given.get_int("rpn_pre_nms_train"), given.get_int("rpn_post_nms_train"), nms, 1e-3};
  test_proposals_ = {given.get_int("rpn_pre_nms_test"), given.get_int("rpn_post_nms_test"), nms, 1e-3};
  loss_options_.rpn.matcher = {given.get_number("rpn_positive_iou"), given.get_number("rpn_negative_iou"), true};
  if (loss_options_.rpn.matcher.low > loss_options_.rpn.matcher.high) {
    std::ostringstream why;
    why << "option 'rpn_negative_iou': expected at most rpn_positive_iou, " << loss_options_.rpn.matcher.high
        << ", found " << loss_options_.rpn.matcher.low;
    throw std::invalid_argument(why.str());
  }
  loss_options_.rpn.sampler.per_image = given.get_int("rpn_batch");
  loss_options_.rpn.sampler.positive_share = given.get_number("rpn_positive_share");
  loss_options_.regions.matcher = {given.get_number("roi_iou"), given.get_number("roi_iou"), false};
  loss_options_.regions.sampler.per_image = given.get_int("roi_batch");
  loss_options_.regions.sampler.positive_share = given.get_number("roi_positive_share");
  net_ = std::make_shared<Network>(config.num_classes, network_options(given));
}

std::unique_ptr<Activations> Detector::forward(const bdc::plugin::Images& images) {
  std::vector<ImageSize> contents;
  for (const auto& meta : images.meta) {
    const bool known = meta.content_width > 0 && meta.content_height > 0;
    contents.push_back(known ? ImageSize{meta.content_height, meta.content_width}
                             : ImageSize{images.pixels.size(2), images.pixels.size(3)});
  }
  return net_->forward(images.pixels, contents);
}

bdc::plugin::Predictions Detector::decode(const Activations& activations, const bdc::plugin::DecodeOptions& options) {
  return predictions(*net_, static_cast<const Scene&>(activations), test_proposals_, options);
}

bdc::plugin::Detections Detector::decode_detections(const Activations& activations,
                                                    const bdc::plugin::DecodeOptions& options) {
  return detections(*net_, static_cast<const Scene&>(activations), test_proposals_, options);
}

bdc::plugin::LossTerms Detector::loss(const Activations& activations, const bdc::plugin::Targets& targets) {
  return soft_loss(*net_, static_cast<const Scene&>(activations), targets, loss_options_);
}

bdc::plugin::LossTerms Detector::hard_loss(const Activations& activations, const bdc::plugin::HardTargets& targets) {
  return frcnn::hard_loss(*net_, static_cast<const Scene&>(activations), targets, loss_options_);
}

void Detector::prepare_for_inference() {
  net_->eval();
  net_->fold();
}

}  // namespace frcnn
