#include "engine/hooks/learner_hook.h"

#include <torch/nn.h>
#include <torch/utils.h>

#include <map>
#include <optional>
#include <utility>

#include "bdc/base/state_bytes.h"
#include "bdc/base/table.h"
#include "bdc/base/user_error.h"
#include "bdc/crowd/targets_of_ranks.h"
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

/// Of the frames of one input, from `first` on: that of the image which the input was made for.
std::size_t own_frame(const std::vector<Frame>& frames, std::size_t first, const plugin::Images& images) {
  std::size_t f = first;
  while (f + 1 < frames.size() && frames[f].image != images.meta[frames[first].input].index) ++f;
  return f;
}

class LearnerHook : public plugin::TrainingHook {
 public:
  LearnerHook(std::string name, const LearnerInfo& info, const plugin::Options& options, Communicator& ranks)
      : name_(std::move(name)), info_(info), ranks_(ranks) {
    const auto& given = options.values();
    for (const OptionSpec& spec : hook_options_of(info)) learner_options_[spec.name] = given.at(spec.name);
    learner_ = make_learner_with(info.name, learner_options_);
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
    const std::vector<Frame> frames = frames_of(*step.images);
    std::size_t own = frames.size();  // of the input: the frame of the image that it was made for
    for (std::size_t f = 0; f < frames.size(); ++f) {
      const auto image = static_cast<std::size_t>(frames[f].image);
      DetectedBoxes detections = seen ? of_image(*seen, f) : DetectedBoxes{};
      if (seen) detections.view = view_of(frames[f]);
      const bool is_first = f == 0 || frames[f].input != frames[f - 1].input;
      if (is_first) own = own_frame(frames, f, *step.images);
      add_targets(image, detections, run.epoch < warmup_, f == own, batch);
      drawn_ += objects_drawn(*run.labels, image);
    }
    trained_on_ += static_cast<double>(batch.box.size());
    *step.targets = run.map_targets(batch, *step.images);
  }

  void after_epoch(plugin::RunContext& run) override {
    if (!watches()) return;
    warn_if_vanished(run);
    if (each_batch_) {
      bring_together();
      share_evidence();
      finish_epoch(run);
    }
    const std::size_t images = run.labels->images.size();
    const bool is_complete = each_batch_ ? latest_.is_complete(images) : epoch_targets_.begin.size() == images + 1;
    if (!is_reported_ || !is_complete) return;
    const Targets all = each_batch_ ? latest_.all() : epoch_targets_;
    report_targets(name_, all, run);
    if (save_labels_) write_labels(all, run.epoch + 1, run);
  }

  [[nodiscard]] std::string save_state() const override {
    if (!watches()) return {};  // made anew from the labels
    if (each_batch_) bring_together();
    StateWriter state;
    const std::string learnt = learner_->save();
    state(std::vector<char>(learnt.begin(), learnt.end()));
    save_targets(epoch_targets_, state);
    latest_.save(state);
    return state.take();
  }

  void load_state(plugin::RunContext& run, const std::string& bytes) override {
    begin(run);
    second_.reset();
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
    if (each_batch_ && !ranks_.is_first()) forget_images();  // rank 0 has them
  }

 private:
  [[nodiscard]] bool watches() const { return info_.traits.uses_detections; }

  void begin(const plugin::RunContext& run) {
    is_reported_ = run.has_truth || save_labels_;
    if (has_begun_) return;
    labels_ = run.labels;
    learner_->begin(*run.labels, torch::get_num_threads(), ranks_);
    no_evidence_ = learner_->evidence().save();
    has_begun_ = true;
  }

  /// Moves what the ranks have seen in this epoch to rank 0. Later results are the same, whenever this is called.
  void bring_together() const {
    if (ranks_.is_alone()) return;
    const bool sends = !ranks_.is_first();
    ranks_.send_to_first(sends ? learner_->evidence().save() : "",
                         [&](const std::string& theirs) { learner_->evidence().merge_saved(theirs); });
    StateWriter own;
    if (sends) latest_.save(own);
    ranks_.send_to_first(own.take(), [&](const std::string& bytes) {
      StateReader state(bytes);
      LatestTargets theirs;
      theirs.load(state);
      latest_.merge(std::move(theirs));
    });
    if (sends) forget_images();
  }

  /// Gives every rank the evidence of rank 0.
  void share_evidence() {
    if (ranks_.is_alone()) return;
    std::string all = ranks_.is_first() ? learner_->evidence().save() : "";
    std::uint64_t size = all.size();
    ranks_.broadcast(&size, sizeof(size), 0);
    all.resize(size);
    ranks_.broadcast(all.data(), size, 0);
    if (!ranks_.is_first()) learner_->evidence().load(all);
  }

  void forget_images() const {
    learner_->evidence().load(no_evidence_);
    latest_.clear();
  }

  /// Adds what image `image` is trained on. detections: of this step; empty unless each batch is watched. is_own: this
  /// is the one time in the epoch that the image teaches something; elsewhere it fills up a mosaic.
  void add_targets(std::size_t image, const DetectedBoxes& detections, bool warm, bool is_own, Targets& batch) {
    if (!watches() || (!each_batch_ && warm)) return append_image(learner_->without_detector(), image, batch);
    if (!each_batch_) return append_image(epoch_targets_, image, batch);
    const bool blind = warm && info_.traits.warmup_targets == WarmUp::no_detections;
    if (!is_own) {
      return warm && !blind ? append_image(learner_->without_detector(), image, batch)
                            : append_image(shown_again(image, blind ? DetectedBoxes{} : detections), 0, batch);
    }
    // Evidence is collected while warming up, too, so that the detector's skill is known when its word begins to count.
    Targets now = learner_->observe(image, blind ? DetectedBoxes{} : detections);
    if (warm && !blind) {
      append_image(learner_->without_detector(), image, batch);
    } else {
      append_image(now, 0, batch);
    }
    if (is_reported_) latest_.set(image, std::move(now));
  }

  /// What the learner makes of an image without learning from it.
  Targets shown_again(std::size_t image, const DetectedBoxes& detections) {
    if (!second_) {
      second_ = make_learner_with(info_.name, learner_options_);
      second_->begin(*labels_, torch::get_num_threads());
      second_->load(learner_->save());
    }
    second_->evidence().load(no_evidence_);
    return second_->observe(image, detections);
  }

  /// A detector that is shown almost no targets learns that nothing is there, and never recovers: says so once.
  void warn_if_vanished(const plugin::RunContext& run) {
    std::vector<double> sums{trained_on_, drawn_};
    ranks_.all_reduce_doubles(sums);
    trained_on_ = sums[0], drawn_ = sums[1];
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
    if (second_) second_->load(learner_->save());
    if (bound != 0) run.metrics[name_ + "/bound"] = bound;
    write_posteriors(run.epoch + 1, run);
  }

  void write_posteriors(std::int64_t epoch, plugin::RunContext& run) const {
    if (const auto posteriors = learner_->posteriors()) write_annotators(*posteriors, epoch, run);
  }

  std::string name_;
  const LearnerInfo& info_;
  Communicator& ranks_;
  std::map<std::string, OptionValue> learner_options_;
  std::unique_ptr<Learner> learner_;
  std::unique_ptr<Learner> second_;  ///< with the posteriors of the first, for images that are shown again in mosaics
  const CrowdData* labels_ = nullptr;
  std::string no_evidence_;
  std::int64_t warmup_ = 0;
  bool each_batch_ = true, save_labels_ = false, is_reported_ = false, has_begun_ = false;
  std::optional<double> min_weight_;
  Targets epoch_targets_;         ///< schedule epoch
  mutable LatestTargets latest_;  ///< schedule batch, for reports; of several ranks, rank 0 has the others' as well
  // Of the epoch so far (a resumed one: since then); for a warning, so not part of the state.
  double trained_on_ = 0, drawn_ = 0;
  bool has_warned_ = false;
};

}  // namespace

std::unique_ptr<plugin::TrainingHook> make_learner_hook(const std::string& method, const plugin::HookConfig& config,
                                                        Communicator& ranks) {
  const auto& given = config.options.values();
  const auto profile = given.find("profile");
  const LearnerEntry* entry = find_learner(profile == given.end() ? method : std::get<std::string>(profile->second));
  return std::make_unique<LearnerHook>(method, entry->info, config.options, ranks);
}

}  // namespace bdc::host
