#pragma once

#include <bdc/plugin/detector.h>
#include <bdc/plugin/ranks.h>

#include <memory>

#include "frcnn/loss.h"
#include "frcnn/network.h"

namespace frcnn {

/// Faster R-CNN behind the plugin interface. Options: docs/frcnn.md.
class Detector : public bdc::plugin::Detector, public bdc::plugin::SharesBatches {
 public:
  static bdc::plugin::DetectorInfo describe();
  /// Throws std::invalid_argument when anchor sizes or ratios cannot be read.
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
  void prepare_for_inference() override;
  void use_counts(bdc::plugin::SharedCounts counts) override { loss_options_.use_counts(counts); }

 private:
  LossOptions loss_options_;
  parts::ProposalOptions test_proposals_;
  std::shared_ptr<Network> net_;
};

}  // namespace frcnn
