// absence_aware: one model of who draws what, where and with which class (docs/method.md). Beside a training run the
// detector is a source whose skill is learnt like anybody's.
#include <algorithm>
#include <string>
#include <utility>

#include "bdc/base/error.h"
#include "bdc/learn/bdc/absence_aware.h"
#include "bdc/learn/learner_info.h"
#include "learn/bdc/absence_aware/annotator_file.h"
#include "learn/bdc/absence_aware/confusion_cells.h"
#include "learn/bdc/absence_aware/exact_evidence.h"
#include "learn/bdc/absence_aware/own_labels.h"
#include "learn/bdc/absence_aware/source_update.h"
#include "learn/bdc/profiles.h"
#include "learn/learner_state.h"
#include "learn/usable_detections.h"

namespace bdc {
namespace {

using absence_aware::kProfile;
using absence_aware::kStateForm;

template <class Archive, class Beliefs>
void archive_beliefs(Archive& state, Beliefs& b) {
  auto& p = b.priors;
  state(p.precision_shape), state(p.precision_rate), state(p.bias_strength);
  state(p.recall_a), state(p.recall_b), state(p.spurious_shape), state(p.spurious_rate);
  for (auto& kind : p.worklist) state(kind.object_share), state(kind.blank_share);
  state(p.right_strength), state(p.wrong_strength), state(p.ease), state(p.ease_shape);
  std::vector<double> shares = p.wrong_share.dense();  // the form of states since 0.1
  state(shares);
  if constexpr (!std::is_const_v<Beliefs>) p.wrong_share = WrongShares::from_dense(shares);
  state(p.tail), state(p.size_power), state(p.reference_size);
  state(b.dependent_begin), state(b.dependent_on), state(b.dependent_share);
  state(b.source), state(b.log_confusion.value), state(b.class_weight), state(b.log_class);
  state(b.real_weight), state(b.spurious_weight), state(b.log_real_level), state(b.log_spurious_level);
}

/// What a file holds of the annotators: nothing of the detector.
template <class Archive, class Sums>
void archive_learnt(Archive& state, Sums& learnt) {
  state(learnt.source), state(learnt.confusion.value);
}

AbsenceAwareEvidence without_detector_source(AbsenceAwareEvidence e, std::size_t annotators) {
  e.source.resize(annotators);
  e.confusion.begin.resize(annotators + 1);
  e.confusion.label.resize(e.confusion.begin.back());
  e.confusion.value.resize(e.confusion.label.size() * e.confusion.num_classes);
  return e;
}

/// The labels that beliefs rest on are those of the last epoch, so no state has to hold them.
void keep_labels(const AbsenceAwareEvidence& learnt, AbsenceAwareBeliefs& b) {
  ConfusionCells labels = absence_aware::cells_of(learnt.confusion);
  labels.begin.resize(b.log_confusion.label.size() + 1, labels.begin.back());  // none of the detector
  absence_aware::keep_label_counts(std::move(labels), b);
}

/// What the annotations alone taught, and a detector that is not trusted with anything yet: that it misses most and
/// invents much is the belief that makes its boxes, and their absence, mean least.
AbsenceAwareBeliefs with_new_detector(const CrowdData& crowd, const AbsenceAwareBeliefs& learnt) {
  AbsenceAwareBeliefs b = initial_beliefs(crowd, true);
  b.corroborated = learnt.corroborated;
  b.priors = learnt.priors;
  b.dependent_begin = learnt.dependent_begin;
  b.dependent_on = learnt.dependent_on;
  b.dependent_share = learnt.dependent_share;
  if (!b.dependent_begin.empty()) b.dependent_begin.push_back(b.dependent_on.size());  // the detector
  std::copy(learnt.source.begin(), learnt.source.end(), b.source.begin());
  std::copy(learnt.log_confusion.value.begin(), learnt.log_confusion.value.end(), b.log_confusion.value.begin());
  b.class_weight = learnt.class_weight;
  b.labels.single_share = learnt.labels.single_share;
  SourceBelief& detector = b.source.back();
  detector.active = true;
  detector.recall_a = 1;
  detector.recall_b = 19;
  detector.spurious_shape = 20;
  detector.spurious_rate = 1;
  absence_aware::set_expectations(b);
  return b;
}

struct Settings {
  int max_rounds = 50;
  double tolerance = 1e-6, min_existence = 1e-6;
  // In training.
  bool use_detector = true;
  double min_weight = 0.05;
};

constexpr std::size_t kMostDetections = 100;  ///< per image; the rest is not looked at

class AbsenceAwareLearner final : public Learner {
 public:
  explicit AbsenceAwareLearner(const Settings& settings) : settings_(settings) {}

  [[nodiscard]] FitResult fit(const FitInput& input) override;

  void begin(const CrowdData& crowd, int threads, Ranks& ranks) override {
    require_annotations(crowd);
    crowd_ = &crowd;
    threads_ = threads;
    AbsenceAwareOptions options;
    options.threads = threads;
    options.min_existence = settings_.min_weight;
    options.ranks = &ranks;
    options.whole = Whole::in_all;
    AbsenceAwareResult alone = run_absence_aware(crowd, nullptr, options);
    without_detector_ = std::move(alone.targets);
    learnt_ = std::move(alone.evidence);
    // A crowd in which nobody looks twice has nothing to judge a detector by.
    use_detector_ = settings_.use_detector && alone.beliefs.corroborated;
    beliefs_ = use_detector_ ? with_new_detector(crowd, alone.beliefs) : std::move(alone.beliefs);
    keep_labels(learnt_, beliefs_);
    evidence_.emplace(beliefs_);
  }

  [[nodiscard]] const Targets& without_detector() const override { return without_detector_; }

  Targets observe(std::size_t image, const DetectedBoxes& given) override {
    const DetectedBoxes detections = usable_detections(given);
    ImageLabels labels = labels_of_image(*crowd_, image);
    if (use_detector_) {
      const std::size_t count = std::min(detections.box.size(), kMostDetections);
      labels.prediction_box = {detections.box.data(), count};
      labels.prediction_score = {detections.score.data(), count};
      labels.view = given.view;
      labels.prediction_class_probs = {detections.class_probs.data(), count * crowd_->classes.size()};
    }
    return evidence_->observe(beliefs_, labels, settings_.min_weight);
  }

  [[nodiscard]] Evidence& evidence() override { return *evidence_; }

  double finish_epoch() override {
    if (evidence_->images() == 0) return 0;  // nothing was seen, so nothing is learnt or forgotten
    AbsenceAwareEvidence total = evidence_->total();
    const double bound = bound_of_evidence(beliefs_, total);
    update_beliefs(beliefs_, total, threads_);
    learnt_ = without_detector_source(in_box_sizes(std::move(total)), crowd_->annotators.size());
    evidence_->clear();
    return bound;
  }

  [[nodiscard]] std::optional<AnnotatorPosteriors> posteriors() const override {
    return absence_aware::to_posteriors(*crowd_, learnt_);
  }

  [[nodiscard]] std::string save() const override {
    StateWriter state;
    write_state_header(state, kProfile, kStateForm);
    archive_beliefs(state, beliefs_);
    archive_learnt(state, learnt_);
    absence_aware::ExactEvidence::archive(state, *evidence_);
    return state.take();
  }

  void load(const std::string& bytes) override {
    StateReader state(bytes);
    read_state_header(state, kProfile, kStateForm);
    AbsenceAwareBeliefs beliefs = beliefs_;
    AbsenceAwareEvidence learnt = learnt_;
    absence_aware::ExactEvidence evidence = *evidence_;
    archive_beliefs(state, beliefs);
    archive_learnt(state, learnt);
    absence_aware::ExactEvidence::archive(state, evidence);
    state.finish();
    keep_labels(learnt, beliefs);
    beliefs_ = std::move(beliefs);
    learnt_ = std::move(learnt);
    *evidence_ = std::move(evidence);
  }

 private:
  Settings settings_;
  const CrowdData* crowd_ = nullptr;
  int threads_ = 0;
  bool use_detector_ = false;
  Targets without_detector_;
  AbsenceAwareBeliefs beliefs_;
  AbsenceAwareEvidence learnt_;  ///< what the last epoch's end knew of the annotators, in box sizes
  std::optional<absence_aware::ExactEvidence> evidence_;
};

FitResult AbsenceAwareLearner::fit(const FitInput& input) {
  check_input(input);
  AbsenceAwareOptions options;
  options.max_rounds = settings_.max_rounds;
  options.tolerance = settings_.tolerance;
  options.min_existence = settings_.min_existence;
  options.threads = input.threads;
  options.keep_log_confusion = false;
  options.ranks = input.ranks;
  options.whole = input.whole;
  AbsenceAwareEvidence prior;
  if (input.prior != nullptr) {
    require_profile(*input.prior, kProfile);
    prior = absence_aware::to_evidence(aligned_with(*input.prior, *input.crowd));
    options.prior_evidence = &prior;
  }
  if (input.progress) {
    options.progress = [&](int round, double bound, double change) {
      const std::size_t images = input.crowd->images.size();
      input.progress({round, settings_.max_rounds, bound, change, images, images});
    };
  }
  AbsenceAwareResult fit = run_absence_aware(*input.crowd, input.predictions, options);
  FitResult result;
  result.targets = std::move(fit.targets);
  result.bound = std::move(fit.bound);
  result.rounds = fit.rounds;
  result.converged = fit.converged;
  if (!fit.converged) {
    result.warnings.push_back("the bound had not settled after " + std::to_string(fit.rounds) +
                              " rounds; raise max_rounds");
  }
  if (fit.skipped_boxes > 0) {
    result.warnings.push_back(std::to_string(fit.skipped_boxes) +
                              " boxes are empty, inverted or not finite and were left out; `validate` lists them");
  }
  if (!fit.beliefs.corroborated) {
    result.warnings.push_back(
        "most images were seen by one annotator only (those who never drew a box not counted): nothing can tell "
        "missed or invented objects from real ones, so "
        "boxes in such images keep a fixed probability of being real");
  }
  if (fit.dependence.one_voice) {
    result.warnings.push_back(
        "nearly all who can be compared err alike, as people do who copy from each other: their agreement proves "
        "little, and nobody independent is there to set them right");
  }
  result.posteriors = absence_aware::to_posteriors(*input.crowd, std::move(fit.evidence));
  for (const Dependence::Pair& pair : fit.dependence.pairs) {
    const bool of_people = static_cast<std::size_t>(pair.second) < input.crowd->annotators.size();
    if (of_people) result.posteriors->alike.push_back(pair);
  }
  if (!fit.dependence.pairs.empty()) result.dependence = std::move(fit.dependence);
  return result;
}

}  // namespace

LearnerEntry absence_aware_learner() {
  LearnerEntry entry;
  LearnerInfo& info = entry.info;
  info.name = kProfile;
  info.profile_of = "bdc";
  info.description = "one model of recall, inventions, boxes and classes; the detector is one more source";
  info.options = {int_option("max_rounds", 50, "rounds after which to stop at the latest", 1, 1000000),
                  number_option("tolerance", 1e-6, "relative rise of the bound below which to stop", 0, 1),
                  number_option("min_existence", 1e-6, "objects less probable than this are left out", 0, 1)};
  info.training_options = {bool_option("use_detector", true, "absence_aware: the detector is one more source"),
                           min_weight_option()};
  info.traits = bdc_traits();
  info.traits.knows_recall = info.traits.knows_existence = true;
  BoxErrorTraits& error = info.traits.box_error;
  error.name = {"left", "top", "right", "bottom"};
  error.mean_heading = {"bias left", "bias top", "bias right", "bias bottom"};
  error.unit.fill("in widths and heights of the object");
  error.of_edges = true;
  entry.create = [](const Options& options) {
    return std::make_unique<AbsenceAwareLearner>(Settings{
        static_cast<int>(options.get_int("max_rounds")), options.get_number("tolerance"),
        options.get_number("min_existence"), options.get_bool("use_detector"), options.get_number("min_weight")});
  };
  return entry;
}

}  // namespace bdc
