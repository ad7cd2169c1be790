// The profiles `paper` and `reference` beside a training run: objects are the detector's boxes that annotations are
// tied to.
#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "bdc/base/state_bytes.h"
#include "bdc/learn/bdc/bdc_model.h"
#include "bdc/learn/method.h"
#include "learn/bdc/online_profiles.h"

namespace bdc {
namespace {

class OnlineClassic : public OnlineBdc {
 public:
  OnlineClassic(const CrowdData& crowd, const OnlineBdcSettings& settings)
      : crowd_(crowd), settings_(settings), is_paper_(settings.profile == "paper") {
    AggregationInput input;
    input.crowd = &crowd;
    input.threads = settings.threads;
    AggregationResult alone = make_method("bdc", {{"profile", settings.profile}})->aggregate(input);
    without_detector_ = std::move(alone.targets);
    before_training_ = std::move(*alone.posteriors);
    if (is_paper_) {
      BdcParameters parameters = paper_parameters();
      parameters.min_weight = std::max(parameters.min_weight, settings.min_weight);
      model_ = make_paper_model(crowd, parameters);
    } else {
      model_ = make_reference_model(crowd, reference_parameters());
    }
  }

  [[nodiscard]] const Targets& without_detector() const override { return without_detector_; }

  Targets observe(std::size_t image, const DetectedBoxes& detections) override {
    const std::size_t count = std::min(detections.box.size(), settings_.max_detections), J = crowd_.classes.size();
    Targets targets;
    if (count == 0) {  // nothing to tie annotations to: what they say alone
      model_->clear_image(image);
      append_image(without_detector_, image, targets);
      return targets;
    }
    // The authors' program takes objectness times class probability for the class scores.
    scores_.assign(detections.class_probs.data(), detections.class_probs.data() + count * J);
    if (!is_paper_) {
      for (std::size_t n = 0; n < count * J; ++n) scores_[n] *= detections.score[n / J];
    }
    model_->aggregate_image(image, {{detections.box.data(), count}, scores_.data()}, workspace_);
    model_->append_targets(image, targets);
    return targets;
  }

  double finish_epoch() override {
    updated_ = 1;
    return model_->update(settings_.threads).bound;
  }

  [[nodiscard]] AnnotatorPosteriors posteriors() const override {
    return updated_ != 0 ? model_->posteriors(settings_.profile.c_str(), settings_.threads) : before_training_;
  }

  [[nodiscard]] std::string save() const override {
    StateWriter state;
    state(updated_);
    model_->save(state);
    return state.take();
  }

  void load(const std::string& bytes) override {
    StateReader state(bytes);
    state(updated_);
    model_->load(state);
    state.finish();
  }

 private:
  const CrowdData& crowd_;
  OnlineBdcSettings settings_;
  bool is_paper_;
  Targets without_detector_;
  AnnotatorPosteriors before_training_;
  std::unique_ptr<BdcModel> model_;
  std::uint8_t updated_ = 0;
  BdcModel::Workspace workspace_;
  std::vector<double> scores_;
};

}  // namespace

std::unique_ptr<OnlineBdc> make_online_classic(const CrowdData& crowd, const OnlineBdcSettings& settings) {
  return std::make_unique<OnlineClassic>(crowd, settings);
}

}  // namespace bdc
