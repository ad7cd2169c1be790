#include "builtin_hooks/crowd_rcnn_hook.h"

#include <torch/nn.h>
#include <torch/utils.h>

#include <optional>
#include <utility>

#include "bdc/learn/crowd_rcnn/crowd_rcnn.h"
#include "builtin_hooks/consensus_report.h"
#include "builtin_hooks/image_targets.h"
#include "data/frames.h"

namespace bdc::host {
namespace {

class CrowdRcnnHook : public plugin::TrainingHook {
 public:
  CrowdRcnnHook(const plugin::Options& options, const HookServices& services)
      : services_(services), warmup_(options.get_int("warmup")), is_reported_(!services.labels->truth.empty()) {
    settings_.group_iou = options.get_number("group_iou");
    settings_.detector_iou = options.get_number("detector_iou");
  }

  void before_fit(plugin::RunContext& run) override {
    start();
    if (run.resumed) return;
    write_annotators(crowd_->posteriors(), 0, run);
    report_targets("crowd_rcnn", crowd_->without_detector(), *services_.labels, run);
  }

  void before_loss(plugin::RunContext& run, plugin::LossContext& step) override {
    const Predictions seen = unmap_predictions(*step.predictions, *step.images);
    Targets batch;
    for (std::size_t b = 0; b < step.images->meta.size(); ++b) {
      const auto image = static_cast<std::size_t>(step.images->meta[b].index);
      Targets now = crowd_->observe(image, run.epoch < warmup_ ? DetectedBoxes{} : of_image(seen, b));
      append_image(now, 0, batch);
      if (is_reported_) latest_.set(image, std::move(now));
    }
    *step.targets = map_targets(batch, *step.images);
  }

  void after_epoch(plugin::RunContext& run) override {
    crowd_->finish_epoch();
    write_annotators(crowd_->posteriors(), run.epoch + 1, run);
    if (!is_reported_ || !latest_.is_complete(services_.labels->images.size())) return;
    report_targets("crowd_rcnn", latest_.all(), *services_.labels, run);
  }

  [[nodiscard]] std::string save_state() const override {
    StateWriter state;
    const std::string crowd = crowd_->save();
    state(std::vector<char>(crowd.begin(), crowd.end()));
    latest_.save(state);
    return state.take();
  }

  void load_state(const std::string& bytes) override {
    start();
    StateReader state(bytes);
    std::vector<char> crowd;
    state.resized(crowd);
    latest_.load(state);
    state.finish();
    crowd_->load({crowd.begin(), crowd.end()});
  }

 private:
  void start() {
    if (!crowd_) crowd_.emplace(*services_.labels, settings_);
  }

  const HookServices& services_;
  CrowdRcnnSettings settings_;
  std::int64_t warmup_;
  bool is_reported_;
  std::optional<CrowdRcnn> crowd_;
  LatestTargets latest_;
};

}  // namespace

std::unique_ptr<plugin::TrainingHook> make_crowd_rcnn_hook(const plugin::Options& options,
                                                           const HookServices& services) {
  return std::make_unique<CrowdRcnnHook>(options, services);
}

}  // namespace bdc::host
