#include "builtin_hooks/bdc_hook.h"

#include <torch/nn.h>
#include <torch/utils.h>

#include <optional>
#include <utility>

#include "bdc/base/state_bytes.h"
#include "builtin_hooks/consensus_report.h"
#include "builtin_hooks/image_targets.h"
#include "data/frames.h"
#include "text/table.h"

namespace bdc::host {
namespace {

class BdcHook : public plugin::TrainingHook {
 public:
  BdcHook(const plugin::Options& options, const HookServices& services)
      : services_(services),
        warmup_(options.get_int("warmup")),
        each_batch_(options.get_string("schedule") == "batch"),
        save_labels_(options.get_bool("save_labels")),
        is_reported_(!services.labels->truth.empty() || save_labels_) {
    settings_.profile = options.get_string("profile");
    settings_.use_detector = options.get_bool("use_detector");
    settings_.min_weight = options.get_number("min_weight");
    settings_.threads = services.threads;
  }

  void before_fit(plugin::RunContext& run) override {
    start();
    if (run.resumed) return;
    write_annotators(online_->posteriors(), 0, run);
    report_targets("bdc", online_->without_detector(), *services_.labels, run);
  }

  void before_epoch(plugin::RunContext& run) override {
    if (each_batch_ || run.epoch < warmup_) return;
    epoch_targets_ = {};
    services_.predict_training_set([&](std::size_t image, const DetectedBoxes& detections) {
      epoch_targets_.begin.resize(image + 1, epoch_targets_.box.size());  // images that were left out have no targets
      append_image(online_->observe(image, detections), 0, epoch_targets_);
    });
    epoch_targets_.begin.resize(services_.labels->images.size() + 1, epoch_targets_.box.size());
    finish_epoch(run);
  }

  void before_loss(plugin::RunContext& run, plugin::LossContext& step) override {
    Targets batch;
    const bool warm = run.epoch < warmup_;
    std::optional<Predictions> seen;
    if (each_batch_) seen = unmap_predictions(*step.predictions, *step.images);
    for (std::size_t b = 0; b < step.images->meta.size(); ++b) {
      const auto image = static_cast<std::size_t>(step.images->meta[b].index);
      Targets now;
      // Evidence is collected while warming up, too, so that the detector's skill is known when its word begins to
      // count.
      if (seen) now = online_->observe(image, of_image(*seen, b));
      if (warm) {
        append_image(online_->without_detector(), image, batch);
      } else {
        append_image(each_batch_ ? now : epoch_targets_, each_batch_ ? 0 : image, batch);
      }
      if (each_batch_ && is_reported_) latest_.set(image, std::move(now));
      drawn_ += objects_drawn(image);
    }
    trained_on_ += static_cast<double>(batch.box.size());
    *step.targets = map_targets(batch, *step.images);
  }

  void after_epoch(plugin::RunContext& run) override {
    warn_if_vanished(run);
    if (each_batch_) finish_epoch(run);
    const std::size_t images = services_.labels->images.size();
    const bool is_complete = each_batch_ ? latest_.is_complete(images) : epoch_targets_.begin.size() == images + 1;
    if (!is_reported_ || !is_complete) return;
    const Targets all = each_batch_ ? latest_.all() : epoch_targets_;
    report_targets("bdc", all, *services_.labels, run);
    if (save_labels_) write_labels(all, *services_.labels, run.epoch + 1, run);
  }

  [[nodiscard]] std::string save_state() const override {
    StateWriter state;
    const std::string online = online_->save();
    state(std::vector<char>(online.begin(), online.end()));
    save_targets(epoch_targets_, state);
    latest_.save(state);
    return state.take();
  }

  void load_state(const std::string& bytes) override {
    start();
    StateReader state(bytes);
    std::vector<char> online;
    state.resized(online);
    epoch_targets_ = load_targets(state);
    latest_.load(state);
    state.finish();
    online_->load({online.begin(), online.end()});
  }

 private:
  void start() {
    if (!online_) online_ = make_online_bdc(*services_.labels, settings_);
  }

  /// Boxes in an image per annotator who saw it.
  [[nodiscard]] double objects_drawn(std::size_t image) const {
    const CrowdData& crowd = *services_.labels;
    const auto boxes = crowd.annotation_begin[image + 1] - crowd.annotation_begin[image],
               people = crowd.assignment_begin[image + 1] - crowd.assignment_begin[image];
    return people > 0 ? static_cast<double>(boxes) / static_cast<double>(people) : 0.0;
  }

  /// A detector that is shown almost no targets learns that nothing is there, and never recovers: says so once.
  void warn_if_vanished(const plugin::RunContext& run) {
    constexpr double kNearlyNone = 0.1;  // of what an annotator draws
    const bool vanished = trained_on_ < kNearlyNone * drawn_;
    if (vanished && !has_warned_ && services_.warn) {
      const std::string longer = "a longer warmup (now " + std::to_string(warmup_) + ")";
      services_.warn(
          "epoch " + std::to_string(run.epoch + 1) + ": hook 'bdc' left " + fixed(trained_on_, 0) +
          " targets, but annotators drew about " + fixed(drawn_, 0) +
          " boxes each in these images; the detector learns that nothing is there\n  advice: " +
          (settings_.profile == "reference"
               ? "the profile 'reference' drops targets that at most 0.3 of the annotators were tied to; "
                 "--hook bdc:profile=absence_aware, or " +
                     longer
               : "--hook bdc:min_weight=X with less than " + fixed(settings_.min_weight, 2) + ", or " + longer));
    }
    has_warned_ = vanished;
    trained_on_ = drawn_ = 0;
  }

  void finish_epoch(plugin::RunContext& run) {
    run.metrics["bdc/bound"] = online_->finish_epoch();
    write_annotators(online_->posteriors(), run.epoch + 1, run);
  }

  const HookServices& services_;
  OnlineBdcSettings settings_;
  std::int64_t warmup_;
  bool each_batch_, save_labels_, is_reported_;
  std::unique_ptr<OnlineBdc> online_;
  Targets epoch_targets_;  ///< schedule epoch
  LatestTargets latest_;   ///< schedule batch, for reports
  // Of the epoch so far (a resumed one: since then); for a warning, so not part of the state.
  double trained_on_ = 0, drawn_ = 0;
  bool has_warned_ = false;
};

}  // namespace

std::unique_ptr<plugin::TrainingHook> make_bdc_hook(const plugin::Options& options, const HookServices& services) {
  return std::make_unique<BdcHook>(options, services);
}

}  // namespace bdc::host
