#pragma once

#include "bdc/learn/learner_info.h"

namespace bdc {

/// The base of learners that learn nothing: the consensus of the annotations is all they have, whatever the detector
/// sees. A derived class gives fit; evidence is empty, posteriors there are none, and there is no state to save.
class FixedConsensus : public Learner {
 public:
  [[nodiscard]] FitResult fit(const FitInput& input) override = 0;

  void begin(const CrowdData& crowd, int threads, Ranks& ranks) final;
  [[nodiscard]] const Targets& without_detector() const final { return targets_; }
  Targets observe(std::size_t image, const DetectedBoxes& detections) final;
  [[nodiscard]] Evidence& evidence() final { return nothing_; }
  double finish_epoch() final;
  [[nodiscard]] std::optional<AnnotatorPosteriors> posteriors() const final { return std::nullopt; }
  [[nodiscard]] std::string save() const final { return ""; }
  void load(const std::string& bytes) final;

 private:
  /// Counts images and holds nothing.
  class NoEvidence final : public Evidence {
   public:
    [[nodiscard]] std::size_t images() const override { return images_; }
    void merge(const Evidence& other) override;
    [[nodiscard]] std::string save() const override { return std::to_string(images_); }
    void load(const std::string& bytes) override;
    void merge_saved(const std::string& bytes) override;

    std::size_t images_ = 0;
  };

  Targets targets_;
  NoEvidence nothing_;
};

}  // namespace bdc
