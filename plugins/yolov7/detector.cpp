#include "yolov7/detector.h"

#include <torch/nn.h>

#include "yolov7/anchors.h"

namespace yolov7 {

using bdc::plugin::Activations;
using bdc::plugin::number_option;
using bdc::plugin::string_option;

bdc::plugin::DetectorInfo Detector::describe() {
  bdc::plugin::DetectorInfo info;
  info.version = "1.0.0";
  info.description = "YOLOv7 and YOLOv7-tiny with optimal-transport assignment";
  info.input_size = 640;
  info.min_input_size = 64;
  info.stride = 32;
  info.optimizer = {"sgd", 0.01, 0.937, 0.0005, 16};
  info.detections = {0.001, 0.65, 300};
  info.capabilities = {"half_precision"};
  const LossOptions usual;
  info.options = {
      string_option("variant", "full", "full (37 million parameters) or tiny (6 million)", {"full", "tiny"}),
      number_option("width", 1.0, "multiplies all channels", 0.1, 4.0),
      number_option("depth", 1.0, "how often the 3 x 3 convolutions of the ELAN blocks are repeated, rounded", 1.0,
                    4.0),
      string_option("anchors", "",
                    "18 numbers: width, height in pixels of the input, 3 pairs per level, finest level first; "
                    "empty: the official ones, fitted to the training boxes where they do not suit"),
      string_option("assigner", "ota", "ota (optimal transport) or plain (every candidate)", {"ota", "plain"}),
      number_option("box_gain", usual.box_gain, "weight of the box loss", 0.0, 1000.0),
      number_option("obj_gain", usual.obj_gain, "weight of the objectness loss at 640 pixels", 0.0, 1000.0),
      number_option("cls_gain", usual.cls_gain, "weight of the class loss with 80 classes", 0.0, 1000.0),
      string_option("labels_per_box", "every",
                    "detections: every label above the limit (as published), or the best label of a box",
                    {"every", "best"})};
  return info;
}

Detector::Detector(const bdc::plugin::DetectorConfig& config) {
  const auto& options = config.options;
  loss_options_.assigner = options.get_string("assigner") == "plain" ? Assigner::plain : Assigner::optimal_transport;
  loss_options_.box_gain = options.get_number("box_gain");
  loss_options_.obj_gain = options.get_number("obj_gain");
  loss_options_.cls_gain = options.get_number("cls_gain");
  labels_per_box_ = options.get_string("labels_per_box") == "best" ? LabelsPerBox::best : LabelsPerBox::every;
  const LayerTable table = table_of(options.get_string("variant"));
  const std::string& anchors = options.get_string("anchors");
  fixed_anchors_ = !anchors.empty();
  net_ = std::make_shared<Network>(table, config.num_classes, options.get_number("width"), options.get_number("depth"),
                                   fixed_anchors_ ? parse_anchors(anchors) : table.anchors);
}

std::unique_ptr<Activations> Detector::forward(const bdc::plugin::Images& images) {
  return net_->forward(images.pixels);
}

bdc::plugin::Predictions Detector::decode(const Activations& activations, const bdc::plugin::DecodeOptions& options) {
  return predictions(static_cast<const Heads&>(activations), options);
}

bdc::plugin::Detections Detector::decode_detections(const Activations& activations,
                                                    const bdc::plugin::DecodeOptions& options) {
  Found all = found(static_cast<const Heads&>(activations), options, labels_per_box_);
  return {all.seen.boxes, all.labels, all.scores, all.seen.image};
}

bdc::plugin::LossTerms Detector::loss(const Activations& activations, const bdc::plugin::Targets& targets) {
  return soft_loss(static_cast<const Heads&>(activations), targets, loss_options_);
}

bdc::plugin::LossTerms Detector::hard_loss(const Activations& activations, const bdc::plugin::HardTargets& targets) {
  return yolov7::hard_loss(static_cast<const Heads&>(activations), targets, loss_options_);
}

std::vector<bdc::plugin::ParameterGroup> Detector::parameter_groups() {
  bdc::plugin::ParameterGroup decay{"weights", {}, 1.0, 1.0}, plain{"biases, norms and implicit layers", {}, 1.0, 0.0};
  for (const auto& item : net_->named_parameters()) {
    if (!item.value().requires_grad()) continue;
    const bool implicit = item.key().size() > 8 && item.key().compare(item.key().size() - 8, 8, "implicit") == 0;
    (item.value().dim() > 1 && !implicit ? decay : plain).parameters.push_back(item.value());
  }
  return {decay, plain};
}

void Detector::prepare_for_inference() {
  net_->fuse();
  net_->eval();
}

void Detector::adapt_to_boxes(const torch::Tensor& sizes) {
  if (fixed_anchors_ || sizes.size(0) == 0) return;
  const Tensor flat = sizes.detach().to(torch::kCPU, torch::kFloat64).contiguous();
  const auto count = static_cast<std::size_t>(flat.size(0));
  std::vector<BoxSize> boxes(count);
  for (std::size_t i = 0; i < count; ++i)
    boxes[i] = {flat.data_ptr<double>()[2 * i], flat.data_ptr<double>()[2 * i + 1]};
  std::vector<double> now;
  for (std::size_t level = 0; level < 3; ++level) {
    const Tensor px = net_->detect().anchor_pixels(level).to(torch::kCPU, torch::kFloat64).contiguous();
    now.insert(now.end(), px.data_ptr<double>(), px.data_ptr<double>() + 6);
  }
  net_->detect().set_anchors(suited_anchors(now, boxes));
}

}  // namespace yolov7
