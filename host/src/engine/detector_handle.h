#pragma once

#include <bdc/plugin/detector.h>
#include <bdc/plugin/ranks.h>

#include <memory>
#include <string>

#include "plugins/loaded_plugin.h"

namespace bdc::host {

/// A detector built from a plugin. Every call into the plugin is guarded: what it throws is reported with the plugin's
/// name and the stage (exit 7), and what it returns is checked before it is used. The detector may live on another
/// device: images and targets are brought to it, predictions come back to the CPU in float32.
class DetectorHandle {
 public:
  /// Seeds LibTorch with `seed` and builds. Throws UserError (exit 7) when the factory throws or gives nothing.
  DetectorHandle(const LoadedPlugin& plugin, const plugin::DetectorConfig& config, std::uint64_t seed,
                 const torch::Device& device = torch::kCPU);

  /// From now on forward and loss compute in half precision where that is safe.
  void use_half_precision() { is_half_ = true; }
  [[nodiscard]] const torch::Device& device() const { return device_; }

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const plugin::DetectorInfo& info() const { return info_; }
  [[nodiscard]] std::int64_t num_classes() const { return num_classes_; }
  [[nodiscard]] plugin::Detector& detector() { return *detector_; }
  [[nodiscard]] torch::nn::Module& module();

  [[nodiscard]] std::unique_ptr<plugin::Activations> forward(const plugin::Images& images);
  [[nodiscard]] plugin::Predictions decode(const plugin::Activations& activations, const plugin::DecodeOptions& options,
                                           std::int64_t batch);
  [[nodiscard]] plugin::Detections decode_detections(const plugin::Activations& activations,
                                                     const plugin::DecodeOptions& options, std::int64_t batch);
  [[nodiscard]] plugin::LossTerms loss(const plugin::Activations& activations, const plugin::Targets& targets);
  [[nodiscard]] plugin::LossTerms hard_loss(const plugin::Activations& activations, const plugin::HardTargets& targets);
  [[nodiscard]] std::vector<plugin::ParameterGroup> parameter_groups();
  void prepare_for_inference();
  void adapt_to_boxes(const torch::Tensor& sizes);
  /// Whether its loss over several ranks is that of one process (bdc/plugin/ranks.h).
  [[nodiscard]] bool shares_batches() const;
  /// Tells the detector of the other ranks, if it can be told.
  void use_counts(const plugin::SharedCounts& counts);

 private:
  [[nodiscard]] std::string who() const { return "plugin '" + name_ + "'"; }
  plugin::LossTerms checked(plugin::LossTerms terms, const char* stage) const;

  std::string name_;
  plugin::DetectorInfo info_;
  std::int64_t num_classes_;
  torch::Device device_;
  bool is_half_ = false;
  std::unique_ptr<plugin::Detector> detector_;
};

/// Why predictions or detections break their contract for `batch` images and `num_classes` classes; "" when they keep
/// it.
[[nodiscard]] std::string broken_law(const plugin::Predictions& predictions, std::int64_t batch,
                                     std::int64_t num_classes);
[[nodiscard]] std::string broken_law(const plugin::Detections& detections, std::int64_t batch,
                                     std::int64_t num_classes);

}  // namespace bdc::host
