// crowd_rcnn: mean boxes, and classes by the annotators' sensitivities with the detector's classes as prior.
#include <algorithm>
#include <cmath>
#include <memory>

#include "bdc/learn/crowd_rcnn/crowd_rcnn.h"
#include "bdc/learn/learner_info.h"

namespace bdc {
namespace {

constexpr const char* kName = "crowd_rcnn";

class CrowdRcnnLearner final : public Learner {
 public:
  CrowdRcnnLearner(const CrowdRcnnSettings& settings, int max_rounds, double tolerance)
      : settings_(settings), max_rounds_(max_rounds), tolerance_(tolerance) {}

  [[nodiscard]] FitResult fit(const FitInput& input) override {
    check_input(input);
    if (input.prior != nullptr) require_profile(*input.prior, kName);
    const std::size_t images = input.crowd->images.size();
    FitResult result;
    if (input.crowd->annotations.empty()) {
      result.targets.num_classes = static_cast<int>(input.crowd->classes.size());
      result.targets.begin.assign(images + 1, 0);
      result.posteriors = CrowdRcnn::nothing_learnt(*input.crowd, settings_);
      return result;
    }
    CrowdRcnnSettings settings = settings_;
    settings.rounds = 0;  // they follow here, with the predictions
    CrowdRcnn model(*input.crowd, settings, input.prior);
    result.converged = false;
    while (result.rounds < max_rounds_ && !result.converged) {
      for (std::size_t i = 0; i < images; ++i) (void)model.observe(i, detections_of(input.predictions, i));
      const double bound = model.finish_epoch(), before = result.bound.empty() ? 0.0 : result.bound.back();
      const double change = result.bound.empty() ? 1.0 : std::abs(bound - before) / std::max(1.0, std::abs(bound));
      result.bound.push_back(bound);
      ++result.rounds;
      result.converged = change < tolerance_;
      if (input.progress) input.progress({result.rounds, max_rounds_, bound, change, images, images});
    }
    if (!result.converged) {
      result.warnings.push_back("the bound had not settled after " + std::to_string(result.rounds) +
                                " rounds; raise max_rounds or tolerance");
    }
    for (std::size_t i = 0; i < images; ++i) {
      model.append_targets(i, detections_of(input.predictions, i), result.targets);
    }
    result.posteriors = model.posteriors();
    return result;
  }

  void begin(const CrowdData& crowd, int, Ranks&) override {
    model_ = std::make_unique<CrowdRcnn>(crowd, settings_);
    without_detector_ = model_->without_detector();
  }
  [[nodiscard]] const Targets& without_detector() const override { return without_detector_; }
  Targets observe(std::size_t image, const DetectedBoxes& detections) override {
    return model_->observe(image, detections);
  }
  [[nodiscard]] Evidence& evidence() override { return model_->evidence(); }
  double finish_epoch() override { return model_->finish_epoch(); }
  [[nodiscard]] std::optional<AnnotatorPosteriors> posteriors() const override { return model_->posteriors(); }
  [[nodiscard]] std::string save() const override { return model_->save(); }
  void load(const std::string& bytes) override { model_->load(bytes); }

 private:
  CrowdRcnnSettings settings_;
  int max_rounds_;
  double tolerance_;
  std::unique_ptr<CrowdRcnn> model_;
  Targets without_detector_;
};

}  // namespace

LearnerEntry crowd_rcnn_learner() {
  LearnerEntry entry;
  LearnerInfo& info = entry.info;
  info.name = kName;
  info.description =
      "Crowd R-CNN: mean boxes, and classes by the annotators' sensitivities with the detector's as prior";
  const CrowdRcnnSettings defaults;
  info.training_options = {
      number_option("group_iou", defaults.group_iou, "annotations that overlap by more show one object", 0, 1),
      number_option("detector_iou", defaults.detector_iou,
                    "detections that overlap an object by this much count towards its class", 0, 1)};
  info.options = {int_option("max_rounds", 100, "largest number of rounds", 1, 1000000),
                  number_option("tolerance", 1e-6, "relative change of the bound below which to stop", 0, 1)};
  info.options.insert(info.options.end(), info.training_options.begin(), info.training_options.end());
  info.traits.learns_annotators = info.traits.knows_classes = true;
  info.traits.uses_detections = true;
  info.traits.needs_capabilities = {"roi_heads"};
  info.traits.warmup = 1;
  info.traits.warmup_targets = WarmUp::no_detections;
  entry.create = [](const Options& options) {
    CrowdRcnnSettings settings;
    settings.group_iou = options.get_number("group_iou");
    settings.detector_iou = options.get_number("detector_iou");
    return std::make_unique<CrowdRcnnLearner>(settings, static_cast<int>(options.get_int("max_rounds")),
                                              options.get_number("tolerance"));
  };
  return entry;
}

}  // namespace bdc
