#pragma once

#include <bdc/plugin/detector.h>
#include <bdc/plugin/ranks.h>

#include <memory>
#include <utility>
#include <vector>

#include "yolov7/decode.h"
#include "yolov7/loss.h"
#include "yolov7/network.h"

namespace yolov7 {

/// YOLOv7 behind the plugin interface. Options: docs/yolov7.md.
class Detector : public bdc::plugin::Detector, public bdc::plugin::SharesBatches {
 public:
  static bdc::plugin::DetectorInfo describe();
  /// Throws std::invalid_argument when the option "anchors" is not 18 positive numbers.
  explicit Detector(const bdc::plugin::DetectorConfig& config);

  torch::nn::Module& module() override { return *net_; }
  std::unique_ptr<bdc::plugin::Activations> forward(const bdc::plugin::Images& images) override;
  bdc::plugin::Predictions decode(const bdc::plugin::Activations& activations,
                                  const bdc::plugin::DecodeOptions& options) override;
  bdc::plugin::Detections decode_detections(const bdc::plugin::Activations& activations,
                                            const bdc::plugin::DecodeOptions& options) override;
  bdc::plugin::LossTerms loss(const bdc::plugin::Activations& activations,
                              const bdc::plugin::Targets& targets) override;
  bdc::plugin::LossTerms hard_loss(const bdc::plugin::Activations& activations,
                                   const bdc::plugin::HardTargets& targets) override;
  /// No weight decay on biases, norms and implicit layers.
  std::vector<bdc::plugin::ParameterGroup> parameter_groups() override;
  /// Fuses the network.
  void prepare_for_inference() override;
  void use_counts(bdc::plugin::SharedCounts counts) override { loss_options_.counts = std::move(counts); }
  /// Replaces the anchors by fitted ones if they would miss more than 2 % of the boxes.
  void adapt_to_boxes(const torch::Tensor& sizes) override;

 private:
  LossOptions loss_options_;
  LabelsPerBox labels_per_box_;
  bool fixed_anchors_;  ///< given by the user
  std::shared_ptr<Network> net_;
};

}  // namespace yolov7
