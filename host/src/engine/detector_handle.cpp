#include "engine/detector_handle.h"

#include <bdc/plugin/abi.h>
#include <torch/nn.h>
#include <torch/utils.h>

#include "bdc/base/short_message.h"
#include "engine/mixed_precision.h"

namespace bdc::host {
namespace {

bool holds_everywhere(const torch::Tensor& t) {
  return t.all().item<bool>();
}

/// What predictions and detections promise alike.
std::string broken_rows(const torch::Tensor& boxes, const torch::Tensor& scores, const torch::Tensor& image_index,
                        std::int64_t batch) {
  const std::int64_t n = boxes.dim() == 2 ? boxes.size(0) : -1;
  if (n < 0 || boxes.size(1) != 4) return "boxes must be N x 4";
  if (scores.dim() != 1 || scores.size(0) != n) return "scores must have N entries";
  if (image_index.dim() != 1 || image_index.size(0) != n || image_index.scalar_type() != torch::kInt64) {
    return "image_index must have N entries of int64";
  }
  if (boxes.requires_grad() || scores.requires_grad()) return "predictions must not carry a gradient";
  if (n == 0) return "";
  if (!holds_everywhere(torch::isfinite(boxes)) || !holds_everywhere(torch::isfinite(scores))) {
    return "boxes and scores must be finite";
  }
  if (!holds_everywhere(boxes.select(1, 2) >= boxes.select(1, 0)) ||
      !holds_everywhere(boxes.select(1, 3) >= boxes.select(1, 1))) {
    return "boxes must have x1 <= x2 and y1 <= y2";
  }
  if (!holds_everywhere((scores >= 0) & (scores <= 1))) return "scores must be in 0..1";
  if (!holds_everywhere((image_index >= 0) & (image_index < batch))) return "image_index must be in 0..batch-1";
  if (n == 1) return "";
  if (!holds_everywhere(image_index.slice(0, 1) >= image_index.slice(0, 0, n - 1))) {
    return "image_index must not decrease";
  }
  const auto same = image_index.slice(0, 1) == image_index.slice(0, 0, n - 1);
  if (!holds_everywhere(~same | (scores.slice(0, 1) <= scores.slice(0, 0, n - 1)))) {
    return "scores must not increase inside an image";
  }
  return "";
}

}  // namespace

std::string broken_law(const plugin::Predictions& p, std::int64_t batch, std::int64_t num_classes) {
  if (!p.boxes.defined() || !p.scores.defined() || !p.class_probs.defined() || !p.image_index.defined()) {
    return "boxes, scores, class_probs and image_index must all be set";
  }
  if (std::string law = broken_rows(p.boxes, p.scores, p.image_index, batch); !law.empty()) return law;
  const std::int64_t n = p.boxes.size(0);
  if (p.class_probs.dim() != 2 || p.class_probs.size(0) != n || p.class_probs.size(1) != num_classes) {
    return "class_probs must be N x number of classes";
  }
  if (p.class_probs.requires_grad()) return "predictions must not carry a gradient";
  if (n == 0) return "";
  if (!holds_everywhere(torch::isfinite(p.class_probs))) return "class_probs must be finite";
  if (!holds_everywhere(p.class_probs >= 0) || !holds_everywhere((p.class_probs.sum(1) - 1).abs() < 1e-3)) {
    return "class_probs must not be negative and must sum to 1 in every row";
  }
  return "";
}

std::string broken_law(const plugin::Detections& d, std::int64_t batch, std::int64_t num_classes) {
  if (!d.boxes.defined() || !d.labels.defined() || !d.scores.defined() || !d.image_index.defined()) {
    return "boxes, labels, scores and image_index must all be set";
  }
  if (std::string law = broken_rows(d.boxes, d.scores, d.image_index, batch); !law.empty()) return law;
  if (d.labels.dim() != 1 || d.labels.size(0) != d.boxes.size(0) || d.labels.scalar_type() != torch::kInt64) {
    return "labels must have N entries of int64";
  }
  if (!holds_everywhere((d.labels >= 0) & (d.labels < num_classes)))
    return "labels must be in 0..number of classes - 1";
  return "";
}

DetectorHandle::DetectorHandle(const LoadedPlugin& plugin, const plugin::DetectorConfig& config, std::uint64_t seed,
                               const torch::Device& device)
    : name_(plugin.name()), info_(plugin.detector_info()), num_classes_(config.num_classes), device_(device) {
  torch::manual_seed(seed);
  call_plugin(who(), "its constructor", [&] {
    try {
      detector_.reset(plugin.descriptor().create_detector(config));
    } catch (const std::invalid_argument& e) {
      throw UserError(ExitCode::config, who() + " rejects its options: " + short_message(e));
    }
  });
  if (!detector_) {
    throw UserError(ExitCode::plugin_threw,
                    who() + ": its factory returned null\n  advice: throw an exception that says why");
  }
  if (!device_.is_cpu()) call_plugin(who(), "moving to " + device_.str(), [&] { detector_->module().to(device_); });
}

torch::nn::Module& DetectorHandle::module() {
  torch::nn::Module* module = nullptr;
  call_plugin(who(), "module", [&] { module = &detector_->module(); });
  return *module;
}

std::unique_ptr<plugin::Activations> DetectorHandle::forward(const plugin::Images& images) {
  std::unique_ptr<plugin::Activations> out;
  call_plugin(who(), "forward", [&] {
    const HalfPrecision half(device_, is_half_);
    out = detector_->forward(device_.is_cpu() ? images : plugin::Images{images.pixels.to(device_), images.meta});
  });
  if (!out) throw UserError(ExitCode::plugin_threw, who() + ": forward returned null");
  return out;
}

plugin::Predictions DetectorHandle::decode(const plugin::Activations& activations, const plugin::DecodeOptions& options,
                                           std::int64_t batch) {
  plugin::Predictions out;
  torch::NoGradGuard no_grad;
  call_plugin(who(), "decode", [&] {
    const HalfPrecision half(device_, is_half_);
    out = detector_->decode(activations, options);
  });
  for (torch::Tensor* t : {&out.boxes, &out.scores, &out.class_probs}) {
    if (t->defined()) *t = t->to(torch::kCPU, torch::kFloat32);
  }
  if (out.image_index.defined()) out.image_index = out.image_index.cpu();
  if (is_half_ && out.class_probs.defined() && out.class_probs.dim() == 2) {  // half precision rounds to 1/256
    out.class_probs = out.class_probs / out.class_probs.sum(1, true).clamp_min(1e-6);
  }
  const std::string law = broken_law(out, batch, num_classes_);
  if (!law.empty()) throw UserError(ExitCode::plugin_threw, who() + ": decode broke the contract: " + law);
  return out;
}

plugin::Detections DetectorHandle::decode_detections(const plugin::Activations& activations,
                                                     const plugin::DecodeOptions& options, std::int64_t batch) {
  plugin::Detections out;
  torch::NoGradGuard no_grad;
  call_plugin(who(), "decode_detections", [&] {
    const HalfPrecision half(device_, is_half_);
    out = detector_->decode_detections(activations, options);
  });
  for (torch::Tensor* t : {&out.boxes, &out.scores}) {
    if (t->defined()) *t = t->to(torch::kCPU, torch::kFloat32);
  }
  for (torch::Tensor* t : {&out.labels, &out.image_index}) {
    if (t->defined()) *t = t->cpu();
  }
  const std::string law = broken_law(out, batch, num_classes_);
  if (!law.empty()) throw UserError(ExitCode::plugin_threw, who() + ": decode_detections broke the contract: " + law);
  return out;
}

plugin::LossTerms DetectorHandle::checked(plugin::LossTerms terms, const char* stage) const {
  if (!terms.total.defined() || terms.total.numel() != 1 || !terms.total.is_floating_point()) {
    throw UserError(ExitCode::plugin_threw, who() + ": " + stage + " gave a total that is not a floating-point scalar");
  }
  return terms;
}

plugin::LossTerms DetectorHandle::loss(const plugin::Activations& activations, const plugin::Targets& targets) {
  plugin::LossTerms out;
  call_plugin(who(), "loss", [&] {
    const HalfPrecision half(device_, is_half_);
    out = detector_->loss(activations, device_.is_cpu() ? targets : targets.to(device_));
  });
  return checked(std::move(out), "loss");
}

plugin::LossTerms DetectorHandle::hard_loss(const plugin::Activations& activations,
                                            const plugin::HardTargets& targets) {
  plugin::LossTerms out;
  call_plugin(who(), "hard_loss", [&] { out = detector_->hard_loss(activations, targets); });
  return checked(std::move(out), "hard_loss");
}

void DetectorHandle::prepare_for_inference() {
  call_plugin(who(), "prepare_for_inference", [&] { detector_->prepare_for_inference(); });
}

void DetectorHandle::adapt_to_boxes(const torch::Tensor& sizes) {
  call_plugin(who(), "adapt_to_boxes", [&] { detector_->adapt_to_boxes(sizes); });
}

bool DetectorHandle::shares_batches() const {
  return dynamic_cast<plugin::SharesBatches*>(detector_.get()) != nullptr;
}

void DetectorHandle::use_counts(const plugin::SharedCounts& counts) {
  auto* sharing = dynamic_cast<plugin::SharesBatches*>(detector_.get());
  if (sharing != nullptr && !counts.is_alone()) call_plugin(who(), "use_counts", [&] { sharing->use_counts(counts); });
}

std::vector<plugin::ParameterGroup> DetectorHandle::parameter_groups() {
  std::vector<plugin::ParameterGroup> out;
  call_plugin(who(), "parameter_groups", [&] { out = detector_->parameter_groups(); });
  return out;
}

}  // namespace bdc::host
