// The profile absence_aware beside a training run: the detector is a source whose skill is learnt like anybody's.
#include <algorithm>
#include <string>
#include <utility>

#include "bdc/base/state_bytes.h"
#include "bdc/learn/bdc/absence_aware.h"
#include "learn/bdc/absence_aware/annotator_file.h"
#include "learn/bdc/absence_aware/source_update.h"
#include "learn/bdc/online_profiles.h"

namespace bdc {
namespace {

template <class Archive, class Beliefs>
void archive_beliefs(Archive& state, Beliefs& b) {
  auto& p = b.priors;
  state(p.precision_shape), state(p.precision_rate), state(p.bias_strength);
  state(p.recall_a), state(p.recall_b), state(p.spurious_shape), state(p.spurious_rate);
  state(p.right_strength), state(p.wrong_strength), state(p.wrong_share);
  state(p.tail), state(p.size_power), state(p.reference_size);
  state(b.source), state(b.log_confusion.value), state(b.class_weight), state(b.log_class);
  state(b.rate_shape), state(b.rate_rate), state(b.log_rate);
  state(b.real_weight), state(b.spurious_weight), state(b.log_real_level), state(b.log_spurious_level);
}

template <class Archive, class Evidence>
void archive_evidence(Archive& state, Evidence& e) {
  state(e.source), state(e.confusion.value), state(e.class_count);
  state(e.objects), state(e.images), state(e.image_bound), state(e.real_level), state(e.spurious_level);
}

/// What the annotations alone taught, and a detector that is not trusted with anything yet: that it misses most and
/// invents much is the belief that makes its boxes, and their absence, mean least.
AbsenceAwareBeliefs with_new_detector(const CrowdData& crowd, const AbsenceAwareBeliefs& learnt) {
  AbsenceAwareBeliefs b = initial_beliefs(crowd, true);
  b.corroborated = learnt.corroborated;
  b.priors = learnt.priors;
  std::copy(learnt.source.begin(), learnt.source.end(), b.source.begin());
  std::copy(learnt.log_confusion.value.begin(), learnt.log_confusion.value.end(), b.log_confusion.value.begin());
  b.class_weight = learnt.class_weight;
  b.rate_shape = learnt.rate_shape;
  b.rate_rate = learnt.rate_rate;
  SourceBelief& detector = b.source.back();
  detector.recall_a = 1;
  detector.recall_b = 19;
  detector.spurious_shape = 20;
  detector.spurious_rate = 1;
  absence_aware::set_expectations(b);
  return b;
}

class OnlineAbsenceAware : public OnlineBdc {
 public:
  OnlineAbsenceAware(const CrowdData& crowd, const OnlineBdcSettings& settings) : crowd_(crowd), settings_(settings) {
    AbsenceAwareOptions options;
    options.threads = settings.threads;
    options.min_existence = settings.min_weight;
    AbsenceAwareResult alone = run_absence_aware(crowd, nullptr, options);
    without_detector_ = std::move(alone.targets);
    posteriors_ = absence_aware::to_posteriors(crowd, std::move(alone.evidence));
    // A crowd in which nobody looks twice has nothing to judge a detector by.
    use_detector_ = settings.use_detector && alone.beliefs.corroborated;
    beliefs_ = use_detector_ ? with_new_detector(crowd, alone.beliefs) : std::move(alone.beliefs);
    evidence_ = empty_evidence(beliefs_);
  }

  [[nodiscard]] const Targets& without_detector() const override { return without_detector_; }

  Targets observe(std::size_t image, const DetectedBoxes& detections) override {
    ImageLabels labels = labels_of_image(crowd_, image);
    if (use_detector_) {
      const std::size_t count = std::min(detections.box.size(), settings_.max_detections);
      labels.prediction_box = {detections.box.data(), count};
      labels.prediction_score = {detections.score.data(), count};
      labels.prediction_class_probs = {detections.class_probs.data(), count * crowd_.classes.size()};
    }
    return consensus_of_image(beliefs_, labels, settings_.min_weight, &evidence_);
  }

  double finish_epoch() override {
    const double bound = bound_of_evidence(beliefs_, evidence_);
    update_beliefs(beliefs_, evidence_, settings_.threads);
    posteriors_ = absence_aware::to_posteriors(crowd_, in_box_sizes(std::move(evidence_)));
    evidence_ = empty_evidence(beliefs_);
    return bound;
  }

  [[nodiscard]] AnnotatorPosteriors posteriors() const override { return posteriors_; }

  [[nodiscard]] std::string save() const override {
    StateWriter state;
    archive_beliefs(state, beliefs_);
    archive_evidence(state, evidence_);
    return state.take();
  }

  void load(const std::string& bytes) override {
    StateReader state(bytes);
    archive_beliefs(state, beliefs_);
    archive_evidence(state, evidence_);
    state.finish();
  }

 private:
  const CrowdData& crowd_;
  OnlineBdcSettings settings_;
  bool use_detector_ = false;
  Targets without_detector_;
  AnnotatorPosteriors posteriors_;
  AbsenceAwareBeliefs beliefs_;
  AbsenceAwareEvidence evidence_;
};

}  // namespace

std::unique_ptr<OnlineBdc> make_online_absence_aware(const CrowdData& crowd, const OnlineBdcSettings& settings) {
  return std::make_unique<OnlineAbsenceAware>(crowd, settings);
}

}  // namespace bdc
