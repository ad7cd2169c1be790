#include "engine/hooks/learner_hook.h"

#include <torch/nn.h>
#include <torch/utils.h>

#include <map>
#include <optional>
#include <utility>

#include "bdc/base/state_bytes.h"
#include "bdc/base/table.h"
#include "bdc/base/user_error.h"
#include "bdc/learn/learners.h"
#include "data/frames.h"
#include "engine/hooks/consensus_report.h"
#include "engine/hooks/image_targets.h"
#include "plugins/builtin_info.h"

namespace bdc::host {
namespace {

/// Boxes in an image per annotator who saw it.
double objects_drawn(const CrowdData& crowd, std::size_t image) {
  const auto boxes = crowd.annotation_begin[image + 1] - crowd.annotation_begin[image],
             people = crowd.assignment_begin[image + 1] - crowd.assignment_begin[image];
  return people > 0 ? static_cast<double>(boxes) / static_cast<double>(people) : 0.0;
}

/// Of a method with several.
std::string default_profile(const std::string& method) {
  for (const plugin::OptionSpec& option : find_builtin_hook(method)->options) {
    if (option.name == "profile") return std::get<std::string>(option.default_value);
  }
  return "";
}

class LearnerHook : public plugin::TrainingHook {
 public:
  LearnerHook(std::string name, const LearnerInfo& info, const plugin::Options& options)
      : name_(std::move(name)), info_(info) {
    const auto& given = options.values();
    std::map<std::string, OptionValue> own;
    for (const OptionSpec& spec : hook_options_of(info)) own[spec.name] = given.at(spec.name);
    learner_ = make_learner_with(info.name, own);
    if (!info.traits.uses_detections) return;
    warmup_ = options.get_int("warmup");
    save_labels_ = options.get_bool("save_labels");
    each_batch_ = !info.traits.once_per_epoch || options.get_string("schedule") == "batch";
    if (given.count("min_weight") != 0) min_weight_ = options.get_number("min_weight");
  }

  void refine(plugin::HookInfo& info) const override { info.needs_predictions = watches() && each_batch_; }

  void before_fit(plugin::RunContext& run) override {
    begin(run);
    if (run.resumed) return;
    write_posteriors(0, run);
    report_targets(name_, learner_->without_detector(), run);
  }

  void before_epoch(plugin::RunContext& run) override {
    if (!watches() || each_batch_ || run.epoch < warmup_) return;
    epoch_targets_ = {};
    run.predict_training_set([&](std::size_t image, const DetectedBoxes& detections) {
      epoch_targets_.begin.resize(image + 1, epoch_targets_.box.size());  // images that were left out have no targets
      append_image(learner_->observe(image, detections), 0, epoch_targets_);
    });
    epoch_targets_.begin.resize(run.labels->images.size() + 1, epoch_targets_.box.size());
    finish_epoch(run);
  }

  void before_loss(plugin::RunContext& run, plugin::LossContext& step) override {
    std::optional<Predictions> seen;
    if (step.predictions != nullptr && watches() && each_batch_) {
      seen = run.unmap_predictions(*step.predictions, *step.images);
    }
    Targets batch;
    const std::vector<Frame> frames = seen ? frames_of(*step.images) : std::vector<Frame>{};
    for (std::size_t b = 0; b < step.images->meta.size(); ++b) {
      const auto image = static_cast<std::size_t>(step.images->meta[b].index);
      DetectedBoxes detections = seen ? of_image(*seen, b) : DetectedBoxes{};
      if (seen) detections.view = view_of(frames[b]);
      add_targets(image, detections, run.epoch < warmup_, batch);
      drawn_ += objects_drawn(*run.labels, image);
    }
    trained_on_ += static_cast<double>(batch.box.size());
    *step.targets = run.map_targets(batch, *step.images);
  }

  void after_epoch(plugin::RunContext& run) override {
    if (!watches()) return;
    warn_if_vanished(run);
    if (each_batch_) finish_epoch(run);
    const std::size_t images = run.labels->images.size();
    const bool is_complete = each_batch_ ? latest_.is_complete(images) : epoch_targets_.begin.size() == images + 1;
    if (!is_reported_ || !is_complete) return;
    const Targets all = each_batch_ ? latest_.all() : epoch_targets_;
    report_targets(name_, all, run);
    if (save_labels_) write_labels(all, run.epoch + 1, run);
  }

  [[nodiscard]] std::string save_state() const override {
    if (!watches()) return {};  // made anew from the labels
    StateWriter state;
    const std::string learnt = learner_->save();
    state(std::vector<char>(learnt.begin(), learnt.end()));
    save_targets(epoch_targets_, state);
    latest_.save(state);
    return state.take();
  }

  void load_state(plugin::RunContext& run, const std::string& bytes) override {
    begin(run);
    if (!watches()) return plugin::TrainingHook::load_state(run, bytes);
    StateReader state(bytes);
    std::vector<char> learnt;
    state.resized(learnt);
    try {  // first: it knows states of other versions, and says what to do
      learner_->load({learnt.begin(), learnt.end()});
    } catch (const std::invalid_argument& e) {
      throw UserError(ExitCode::data, "the checkpoint's state of hook '" + name_ + "': " + e.what());
    }
    epoch_targets_ = load_targets(state);
    latest_.load(state);
    state.finish();
  }

 private:
  [[nodiscard]] bool watches() const { return info_.traits.uses_detections; }

  void begin(const plugin::RunContext& run) {
    is_reported_ = run.has_truth || save_labels_;
    if (!has_begun_) learner_->begin(*run.labels, torch::get_num_threads());
    has_begun_ = true;
  }

  /// Adds what image `image` is trained on. detections: of this step; empty unless each batch is watched.
  void add_targets(std::size_t image, const DetectedBoxes& detections, bool warm, Targets& batch) {
    if (!watches() || (!each_batch_ && warm)) return append_image(learner_->without_detector(), image, batch);
    if (!each_batch_) return append_image(epoch_targets_, image, batch);
    const bool blind = warm && info_.traits.warmup_targets == WarmUp::no_detections;
    // Evidence is collected while warming up, too, so that the detector's skill is known when its word begins to count.
    Targets now = learner_->observe(image, blind ? DetectedBoxes{} : detections);
    if (warm && !blind) {
      append_image(learner_->without_detector(), image, batch);
    } else {
      append_image(now, 0, batch);
    }
    if (is_reported_) latest_.set(image, std::move(now));
  }

  /// A detector that is shown almost no targets learns that nothing is there, and never recovers: says so once.
  void warn_if_vanished(const plugin::RunContext& run) {
    constexpr double kNearlyNone = 0.1;  // of what an annotator draws
    const bool vanished = trained_on_ < kNearlyNone * drawn_;
    if (vanished && !has_warned_) {
      const std::string longer = "a longer warmup (now " + std::to_string(warmup_) + ")";
      std::string advice = longer;
      if (!info_.traits.drops_targets.empty()) {
        advice = "the profile '" + info_.name + "' drops " + info_.traits.drops_targets + "; --hook " + name_ +
                 ":profile=" + default_profile(name_) + ", or " + longer;
      } else if (min_weight_) {
        advice = "--hook " + name_ + ":min_weight=X with less than " + fixed(*min_weight_, 2) + ", or " + longer;
      }
      run.say("warning: epoch " + std::to_string(run.epoch + 1) + ": hook '" + name_ + "' left " +
              fixed(trained_on_, 0) + " targets, but annotators drew about " + fixed(drawn_, 0) +
              " boxes each in these images; the detector learns that nothing is there\n  advice: " + advice);
    }
    has_warned_ = vanished;
    trained_on_ = drawn_ = 0;
  }

  void finish_epoch(plugin::RunContext& run) {
    const double bound = learner_->finish_epoch();
    if (bound != 0) run.metrics[name_ + "/bound"] = bound;
    write_posteriors(run.epoch + 1, run);
  }

  void write_posteriors(std::int64_t epoch, plugin::RunContext& run) const {
    if (const auto posteriors = learner_->posteriors()) write_annotators(*posteriors, epoch, run);
  }

  std::string name_;
  const LearnerInfo& info_;
  std::unique_ptr<Learner> learner_;
  std::int64_t warmup_ = 0;
  bool each_batch_ = true, save_labels_ = false, is_reported_ = false, has_begun_ = false;
  std::optional<double> min_weight_;
  Targets epoch_targets_;  ///< schedule epoch
  LatestTargets latest_;   ///< schedule batch, for reports
  // Of the epoch so far (a resumed one: since then); for a warning, so not part of the state.
  double trained_on_ = 0, drawn_ = 0;
  bool has_warned_ = false;
};

}  // namespace

std::unique_ptr<plugin::TrainingHook> make_learner_hook(const std::string& method, const plugin::HookConfig& config) {
  const auto& given = config.options.values();
  const auto profile = given.find("profile");
  const LearnerEntry* entry = find_learner(profile == given.end() ? method : std::get<std::string>(profile->second));
  return std::make_unique<LearnerHook>(method, entry->info, config.options);
}

}  // namespace bdc::host
