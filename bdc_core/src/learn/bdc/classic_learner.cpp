#include "learn/bdc/classic_learner.h"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

#include "learn/bdc/bdc_runner.h"
#include "learn/bdc/profiles.h"
#include "learn/learner_state.h"
#include "learn/usable_detections.h"

namespace bdc {
namespace {

constexpr StateForm kStateForm = 5;
constexpr std::size_t kMostDetections = 100;  ///< per image; the rest is not looked at

/// The evidence of images that came in this epoch. The model holds it image by image, so that a merge takes over
/// images, and the sums run in the order of annotations whoever saw them.
class ClassicEvidence final : public Evidence {
 public:
  ClassicEvidence(BdcModel& model, std::string profile, std::size_t images)
      : model_(model), profile_(std::move(profile)), seen_(images, 0) {}

  void add(std::size_t image) { seen_[image] = 1; }
  void clear() { std::fill(seen_.begin(), seen_.end(), 0); }

  [[nodiscard]] std::size_t images() const override {
    return static_cast<std::size_t>(std::count(seen_.begin(), seen_.end(), 1));
  }

  void merge(const Evidence& other) override {
    const auto* from = dynamic_cast<const ClassicEvidence*>(&other);
    if (from == nullptr || from->profile_ != profile_ || from->seen_.size() != seen_.size()) {
      throw std::invalid_argument("evidence of different learners or crowds cannot be merged");
    }
    require_disjoint(from->seen_);
    for (std::size_t i = 0; i < seen_.size(); ++i) {
      if (from->seen_[i] == 0) continue;
      model_.copy_image(from->model_, i);
      seen_[i] = 1;
    }
  }

  [[nodiscard]] std::string save() const override {
    StateWriter state;
    write_state_header(state, profile_, kStateForm);
    state(seen_);
    for (std::size_t i = 0; i < seen_.size(); ++i) {
      if (seen_[i] != 0) model_.save_image(i, state);
    }
    return state.take();
  }

  void load(const std::string& bytes) override {
    StateReader state(bytes);
    read_state_header(state, profile_, kStateForm);
    std::vector<std::uint8_t> seen(seen_.size());
    state(seen);
    for (std::size_t i = 0; i < seen.size(); ++i) {
      if (seen[i] != 0) {
        model_.load_image(i, state);
      } else if (seen_[i] != 0) {
        model_.clear_image(i);
      }
    }
    state.finish();
    seen_ = std::move(seen);
  }

  void merge_saved(const std::string& bytes) override {
    StateReader state(bytes);
    read_state_header(state, profile_, kStateForm);
    std::vector<std::uint8_t> seen(seen_.size());
    state(seen);
    require_disjoint(seen);
    for (std::size_t i = 0; i < seen.size(); ++i) {
      if (seen[i] == 0) continue;
      model_.load_image(i, state);
      seen_[i] = 1;
    }
    state.finish();
  }

  template <class Archive, class Self>
  static void archive(Archive& state, Self& self) {
    state(self.seen_);
  }

 private:
  void require_disjoint(const std::vector<std::uint8_t>& seen) const {
    for (std::size_t i = 0; i < seen_.size(); ++i) {
      if (seen_[i] != 0 && seen[i] != 0) {
        throw std::invalid_argument("image " + std::to_string(i) + " is in both parts of the evidence to be merged");
      }
    }
  }

  BdcModel& model_;
  std::string profile_;
  std::vector<std::uint8_t> seen_;
};

class ClassicLearner final : public Learner {
 public:
  ClassicLearner(ClassicProfile profile, const BdcRunOptions& run) : profile_(std::move(profile)), run_(run) {}

  [[nodiscard]] FitResult fit(const FitInput& input) override { return fit_with(profile_.parameters, input); }

  void begin(const CrowdData& crowd, int threads, Ranks&) override {
    require_annotations(crowd);
    crowd_ = &crowd;
    threads_ = threads;
    FitInput input;
    input.crowd = &crowd;
    input.threads = threads;
    BdcParameters parameters = profile_.parameters;
    parameters.weigh_by_looks = profile_.training_parameters.weigh_by_looks;  // these targets stand beside the others
    FitResult alone = fit_with(parameters, input);
    without_detector_ = std::move(alone.targets);
    posteriors_ = std::move(*alone.posteriors);
    model_ = profile_.make_model(crowd, profile_.training_parameters, nullptr, {});
    evidence_ = std::make_unique<ClassicEvidence>(*model_, profile_.name, crowd.images.size());
  }

  [[nodiscard]] const Targets& without_detector() const override { return without_detector_; }

  Targets observe(std::size_t image, const DetectedBoxes& given) override {
    const DetectedBoxes detections = usable_detections(given);
    const std::size_t count = std::min(detections.box.size(), kMostDetections), J = crowd_->classes.size();
    evidence_->add(image);
    Targets targets;
    if (count == 0) {  // nothing to tie annotations to: what they say alone
      model_->clear_image(image);
      append_image(without_detector_, image, targets);
      return targets;
    }
    scores_.assign(detections.class_probs.data(), detections.class_probs.data() + count * J);
    if (profile_.scores_times_confidence) {
      for (std::size_t n = 0; n < count * J; ++n) scores_[n] *= detections.score[n / J];
    }
    model_->aggregate_image(image, {{detections.box.data(), count}, scores_.data()}, workspace_);
    model_->append_targets(image, targets);
    return targets;
  }

  [[nodiscard]] Evidence& evidence() override { return *evidence_; }

  /// An image that did not come in this epoch counts with what it said last.
  double finish_epoch() override {
    const double bound = model_->update(threads_).bound;
    posteriors_ = model_->posteriors(profile_.name.c_str(), threads_);
    evidence_->clear();
    return bound;
  }

  [[nodiscard]] std::optional<AnnotatorPosteriors> posteriors() const override { return posteriors_; }

  [[nodiscard]] std::string save() const override {
    StateWriter state;
    write_state_header(state, profile_.name, kStateForm);
    std::vector<BoxErrorSums> box;
    for (const AnnotatorEvidence& a : posteriors_.annotators) box.push_back(a.box);
    state(box), state(posteriors_.confusion.value);
    ClassicEvidence::archive(state, *evidence_);
    model_->save(state);
    return state.take();
  }

  void load(const std::string& bytes) override {
    StateReader state(bytes);
    read_state_header(state, profile_.name, kStateForm);
    std::vector<BoxErrorSums> box(posteriors_.annotators.size());
    state(box), state(posteriors_.confusion.value);
    for (std::size_t k = 0; k < box.size(); ++k) posteriors_.annotators[k].box = box[k];
    ClassicEvidence::archive(state, *evidence_);
    model_->load(state);
    state.finish();
  }

 private:
  [[nodiscard]] FitResult fit_with(const BdcParameters& parameters, const FitInput& input) const {
    return run_bdc(input, profile_.name.c_str(), parameters, run_,
                   [&](const CrowdData& crowd, const AnnotatorPosteriors* prior, Span<const std::int32_t> room) {
                     return profile_.make_model(crowd, parameters, prior, room);
                   });
  }

  ClassicProfile profile_;
  BdcRunOptions run_;
  const CrowdData* crowd_ = nullptr;
  int threads_ = 0;
  Targets without_detector_;
  AnnotatorPosteriors posteriors_;
  std::unique_ptr<BdcModel> model_;
  std::unique_ptr<ClassicEvidence> evidence_;
  BdcModel::Workspace workspace_;
  std::vector<double> scores_;
};

}  // namespace

std::vector<OptionSpec> classic_options() {
  return {int_option("max_rounds", 100, "rounds after which to stop at the latest", 1, 1000000),
          number_option("tolerance", 0.0001, "changes of bound and posteriors below which to stop", 0, 1),
          number_option("group_iou", 0.45,
                        "without a detector: overlap above which annotations may show the same object", 0, 1)};
}

std::unique_ptr<Learner> make_classic_learner(ClassicProfile profile, const Options& options) {
  const BdcRunOptions run{static_cast<int>(options.get_int("max_rounds")), options.get_number("tolerance"),
                          options.get_number("group_iou")};
  return std::make_unique<ClassicLearner>(std::move(profile), run);
}

}  // namespace bdc
