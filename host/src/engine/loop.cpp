#include "engine/loop.h"

#include <torch/nn.h>
#include <torch/utils.h>

#include <cmath>

#include "bdc/base/now_seconds.h"
#include "bdc/base/user_error.h"
#include "engine/on_host.h"
#include "engine/require_finite.h"

namespace bdc::host {

Loop::Loop(LoopParts parts, LoopState& state)
    : parts_(std::move(parts)),
      state_(state),
      shared_(parts_.ranks, parts_.detector.name(),
              parts_.settings.sync_batchnorm ? most_norm_channels(parts_.detector.module().buffers()) : 0) {}

bool Loop::run() {
  parts_.detector.module().train();
  parts_.detector.use_counts(shared_.counts());
  while (!is_finished()) {
    if (!stop_asked() && run_epoch()) continue;
    tell(&Observer::interrupted);
    return false;
  }
  return true;
}

bool Loop::run_epoch() {
  begin_epoch();
  if (!run_steps()) return false;
  end_epoch();
  return true;
}

void Loop::begin_epoch() {
  state_.run.epoch = state_.at.epoch;
  state_.images_done = 0;
  state_.first_position = state_.at.position;
  state_.evaluation = nullptr;
  state_.started = now_seconds();
  (void)state_.clock.take();
  state_.clock.begin("hooks");
  if (state_.at.begun) return;
  state_.stage = "before_epoch";
  parts_.hooks.before_epoch(state_.run);
  state_.at.begun = true;
}

bool Loop::run_steps() {
  const TrainSettings& settings = parts_.settings;
  const Communicator& ranks = parts_.ranks;
  BatchLoader loader(
      parts_.train,
      shares_of(epoch_batches(settings, state_.at.epoch, parts_.train.size()), ranks.rank(), ranks.size()), loading());
  const std::int64_t batches = settings.batches_per_epoch(parts_.train.size());
  std::optional<Batch> next;  // the loader passes over those of which no image can be read
  bool has_more = true;
  while (state_.at.position < batches) {
    if (ranks.is_alone() && parts_.stop && parts_.updater.waiting() == 0) return false;
    state_.stage = "loading a batch";
    state_.clock.begin("loading");
    if (!next && has_more) next = loader.next();
    has_more = next.has_value();
    const bool is_mine = next && next->number == state_.at.position;
    if (!ranks.is_alone()) note_place();
    const SharedBatch::Turn turn = shared_.begin(parts_.stop, is_mine ? next->size() : 0);
    if (turn.stop && parts_.updater.waiting() == 0) return false;
    if (is_mine) {
      run_batch(*next);
    } else if (turn.images > 0) {
      sit_out_batch();
    }
    if (is_mine) next.reset();
    state_.images_done += turn.images;
    ++state_.at.position;
    // A group ends where it ends, also when the images of its last batch are all broken.
    const bool is_whole = state_.at.position % settings.accumulate == 0 && parts_.updater.waiting() > 0;
    if (is_whole) make_step();
    if (turn.images > 0) {
      for (const auto& observer : parts_.observers) observer->after_batch(state_, latest_terms_);
    }
    if (is_whole) tell(&Observer::after_step);
  }
  const bool is_left = parts_.updater.waiting() > 0;
  if (is_left) make_step();
  if (is_left) tell(&Observer::after_step);
  return !stop_asked() || state_.at.epoch + 1 >= settings.epochs;
}

bool Loop::stop_asked() {
  return parts_.ranks.is_alone() ? parts_.stop.load() : shared_.begin(parts_.stop, 0).stop;
}

void Loop::note_place() {
  parts_.ranks.note_place("epoch " + std::to_string(state_.at.epoch + 1) + ", step " +
                          std::to_string(state_.at.position + 1));
}

void Loop::sit_out_batch() {
  state_.stage = "waiting for the other ranks";
  latest_terms_ = shared_.sit_out();
  check_all_finite(latest_terms_.total.item<double>());
  shared_.sit_out_backward();
  parts_.updater.add_nothing();
}

void Loop::run_batch(Batch& batch) {
  const std::string plugin = " of plugin " + parts_.detector.name();
  state_.stage = "forward" + plugin;
  state_.clock.begin("forward");
  const auto activations = [&] {
    const SyncBatchNorm::Scope scope(shared_.norm());
    return parts_.detector.forward(batch.images);
  }();

  const bool has_crowd = parts_.hooks.needs_crowd() && state_.run.num_annotators > 0;
  plugin::LossContext step{&batch.images, nullptr, has_crowd ? &batch.crowd : nullptr, &batch.targets};
  plugin::Predictions predictions;
  state_.clock.begin("hooks");
  if (parts_.hooks.needs_predictions()) {
    state_.stage = "decode" + plugin;
    predictions = parts_.detector.decode(*activations, parts_.settings.hook_limits, batch.size());
    step.predictions = &predictions;
  }
  state_.stage = "before_loss";
  parts_.hooks.before_loss(state_.run, step);
  for (const auto& observer : parts_.observers) observer->before_loss(state_, batch);

  state_.stage = "loss" + plugin;
  state_.clock.begin("loss");
  const plugin::LossTerms terms = [&] {
    const SyncBatchNorm::Scope scope(shared_.norm());
    return parts_.detector.loss(*activations, batch.targets);
  }();
  latest_images_ = batch.images;
  const plugin::LossTerms own = on_host(terms);
  latest_terms_ = shared_.finish(own);
  if (parts_.updater.needs_finite()) check_finite(own.total.item<double>(), state_.at.position + 1);
  check_all_finite(latest_terms_.total.item<double>());

  state_.stage = "backward" + plugin;
  state_.clock.begin("backward");
  parts_.updater.add(shared_.to_learn_from(terms.total), batch.size(), ends_group());
  state_.clock.begin("optimiser");
}

bool Loop::ends_group() const {
  const std::int64_t next = state_.at.position + 1;
  return next % parts_.settings.accumulate == 0 || next == parts_.settings.batches_per_epoch(parts_.train.size());
}

void Loop::make_step() {
  state_.stage = "optimiser step";
  const bool is_checked = parts_.updater.needs_finite();
  const double norm = parts_.updater.step(parts_.settings.learning_rate_at(state_.at.step, parts_.train.size()));
  if (is_checked) check_finite(norm, state_.at.position);
  ++state_.at.step;
  state_.run.step = state_.at.step;
  state_.stage = "after_step";
  state_.clock.begin("hooks");
  parts_.hooks.after_step(state_.run, latest_terms_);
}

void Loop::end_epoch() {
  state_.train_seconds = now_seconds() - state_.started;
  state_.clock.begin("evaluation");
  tell(&Observer::after_steps);
  state_.stage = "after_epoch";
  state_.clock.begin("hooks");
  parts_.hooks.after_epoch(state_.run);
  for (const auto& [stage, seconds] : state_.clock.take()) state_.run.metrics["seconds/" + stage] = seconds;
  if (!parts_.ranks.is_alone()) {
    const auto [under_way, waited] = parts_.updater.take_seconds();
    state_.run.metrics["seconds/sums_under_way"] = under_way;
    state_.run.metrics["seconds/sums_waited"] = waited;
  }
  state_.at = {state_.at.epoch + 1, 0, state_.at.step, false};
  tell(&Observer::after_epoch);
}

std::string Loop::end_reason() const {
  if (state_.at.epoch >= parts_.settings.epochs) {
    return "all " + std::to_string(parts_.settings.epochs) + " epochs are done";
  }
  for (const auto& observer : parts_.observers) {
    if (std::string reason = observer->end_reason(); !reason.empty()) return reason;
  }
  return {};
}

LoaderSettings Loop::loading() const {
  LoaderSettings out;
  out.input_size = parts_.settings.input_size;
  out.batch.augment = parts_.settings.augment;
  out.batch.seed = parts_.settings.seed;
  out.batch.epoch = state_.at.epoch;
  out.batch.with_targets = !parts_.hooks.replaces_targets();
  out.batch.with_crowd = parts_.hooks.needs_crowd();
  out.workers = parts_.settings.workers;
  out.first = state_.at.position;
  return out;
}

void Loop::check_finite(double value, std::int64_t position) const {
  RunPosition at = state_.at;
  at.position = position;
  require_finite(value, latest_images_, parts_.train.labels(), at, parts_.settings.learning_rate.start, parts_.folder);
}

void Loop::check_all_finite(double mean) const {
  if (parts_.ranks.is_alone() || !parts_.updater.needs_finite() || std::isfinite(mean)) return;
  throw UserError(ExitCode::non_finite, "the loss of another rank is not finite (epoch " +
                                            std::to_string(state_.at.epoch + 1) + ", step " +
                                            std::to_string(state_.at.position + 1) + "); that rank says more");
}

void Loop::tell(void (Observer::*event)(LoopState&)) {
  for (const auto& observer : parts_.observers) (observer.get()->*event)(state_);
}

}  // namespace bdc::host
