#pragma once

#include <bdc/plugin/detector.h>
#include <bdc/plugin/ranks.h>

#include <memory>
#include <vector>

#include "eva/sizes.h"

namespace eva {

/// EVA-02's detector behind the plugin interface. Options: docs/eva.md.
class Detector : public bdc::plugin::Detector, public bdc::plugin::SharesBatches {
 public:
  static bdc::plugin::DetectorInfo describe();
  /// Throws std::invalid_argument when the options do not go together.
  explicit Detector(const bdc::plugin::DetectorConfig& config);
  /// From what the options mean.
  explicit Detector(Settings settings);

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
  void use_counts(bdc::plugin::SharedCounts counts) override { settings_.loss.use_counts(counts); }
  /// With d = layer_decay and D blocks, the learning rate's factor is d^(D + 1) for the embeddings, d^(D - k) for block
  /// k and 1 for everything after the blocks. No weight decay on norms, biases, layer scales and position embeddings.
  std::vector<bdc::plugin::ParameterGroup> parameter_groups() override;

 private:
  Settings settings_;
  std::shared_ptr<Network> net_;
};

}  // namespace eva
