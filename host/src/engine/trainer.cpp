#include "engine/trainer.h"

#include <ATen/CPUGeneratorImpl.h>
#include <torch/nn.h>
#include <torch/utils.h>

#include "bdc/base/short_message.h"
#include "bdc/base/text.h"
#include "bdc/base/user_error.h"
#include "bdc/crowd/labels_digest.h"
#include "engine/evaluate.h"
#include "engine/hooks/run_context.h"
#include "engine/observers/broken_images.h"
#include "engine/observers/checkpoints.h"
#include "engine/observers/early_stop.h"
#include "engine/observers/loss_meter.h"
#include "engine/observers/loss_watch.h"
#include "engine/observers/metrics_record.h"
#include "engine/observers/picture_writer.h"
#include "engine/observers/progress_line.h"

namespace bdc::host {
namespace {

at::Generator random_source() {
  return at::detail::getDefaultCPUGenerator();
}

at::Generator random_source(const torch::Device& device) {
  return at::globalContext().defaultGenerator(device);
}

/// Other devices draw from the CPU's source.
bool has_random_source(const torch::Device& device) {
  return device.is_cuda();
}

/// A random state as bytes, and back.
std::string bytes_of(const torch::Tensor& state) {
  const torch::Tensor t = state.cpu().contiguous();
  return {static_cast<const char*>(t.data_ptr()), t.nbytes()};
}

torch::Tensor state_of(const std::string& bytes) {
  torch::Tensor out = torch::empty({static_cast<std::int64_t>(bytes.size())}, torch::kUInt8);
  std::copy(bytes.begin(), bytes.end(), static_cast<char*>(out.data_ptr()));
  return out;
}

}  // namespace

Trainer::Trainer(TrainerParts parts, const TrainSettings& settings)
    : parts_(std::move(parts)),
      settings_(settings),
      labels_digest_(labels_digest(parts_.train.labels())),
      store_(parts_.folder),
      updater_(parts_.detector, settings_, parts_.ranks),
      loop_({parts_.detector, parts_.train, parts_.hooks, updater_, settings_, observers_, parts_.stop, parts_.folder,
             parts_.ranks},
            state_) {
  plugin::RunContext& run = state_.run;
  run = make_run_context(parts_.train.labels());
  run.detector = &parts_.detector.detector();
  run.run_folder = parts_.folder.string();
  run.num_classes = parts_.detector.num_classes();
  run.epochs = settings_.epochs;
  run.rank = parts_.ranks.rank();
  run.size = parts_.ranks.size();
  run.say = [this](const std::string& text) { parts_.progress.line(text); };
  run.predict_training_set = [this](const plugin::DetectionSink& sink) {
    const Ema::Lent lent(updater_.ema());
    predict_all(parts_.detector, parts_.train, settings_.input_size, settings_.batch_size, settings_.hook_limits, sink,
                parts_.ranks);
  };
  add_observers();
}

template <class Kind, class... Arguments>
Kind& Trainer::observe(Arguments&&... arguments) {
  observers_.push_back(std::make_unique<Kind>(std::forward<Arguments>(arguments)...));
  return static_cast<Kind&>(*observers_.back());
}

void Trainer::add_observers() {
  const auto classes = class_names(parts_.train.labels());
  Progress& progress = parts_.progress;
  evaluation_ = &observe<Evaluation>(parts_.detector, updater_.ema(), parts_.test, settings_, progress, parts_.ranks);
  const auto& losses = observe<LossMeter>();
  best_ = &observe<BestWeights>(
      store_, [this] { return updater_.best_guess(); },
      Json{{"classes", classes}, {"config", Json::parse(parts_.config)}});
  observe<ProgressLine>(progress, settings_, losses, parts_.hooks.names());
  observe<BrokenImages>(std::vector<const Dataset*>{&parts_.train, &parts_.test}, progress, parts_.ranks);
  const auto& record = observe<MetricsRecord>(parts_.folder, settings_);
  observe<LossWatch>(record, progress);
  observe<PictureWriter>(parts_.folder, classes, record, progress);
  observe<EarlyStop>(*best_, settings_.patience, settings_.evaluate_every);
  observe<Checkpoints>(store_, settings_.checkpoint_every, [this] { return snapshot(); });
}

TrainResult Trainer::fit(const Checkpoint* resume) {
  begin(resume);
  TrainResult result;
  try {
    state_.stage = "before_fit";
    parts_.hooks.before_fit(state_.run);
    if (resume != nullptr) state_.run.metrics = resume->metrics;  // what before_fit says again was logged before
    result = run_loop();
  } catch (const std::exception& e) {
    parts_.hooks.on_exception(state_.run, state_.stage, e.what());
    try {
      parts_.hooks.after_fit(state_.run);
    } catch (const std::exception&) {  // the first error is the one to report
    }
    throw;
  }
  state_.stage = "after_fit";
  parts_.hooks.after_fit(state_.run);
  return result;
}

void Trainer::begin(const Checkpoint* resume) {
  seed_rank();
  updater_.take_weights_of_first();
  if (resume != nullptr) {
    restore(*resume);
    parts_.progress.line(loop_.is_finished() ? parts_.folder.string() + ": is already finished: " + loop_.end_reason()
                                             : "resuming " + parts_.folder.string());
  }
  for (const auto& observer : observers_) observer->before_fit(state_);
}

TrainResult Trainer::run_loop() {
  TrainResult result;
  result.was_finished = loop_.is_finished();
  result.interrupted = !loop_.run();
  if (evaluation_->latest()) result.evaluation = *evaluation_->latest();
  if (result.interrupted) return result;
  result.stopped_early = state_.at.epoch < settings_.epochs;
  if (result.stopped_early && !result.was_finished) parts_.progress.line("stopped: " + loop_.end_reason());
  result.best_ap = best_->ap();
  result.best_epoch = best_->epoch();
  return result;
}

Checkpoint Trainer::snapshot() const {
  Checkpoint c;
  c.position = state_.at;
  c.config = parts_.config;
  c.classes = class_names(parts_.train.labels());
  c.labels = labels_digest_;
  updater_.save(c);
  c.random_state = random_source().get_state();
  const torch::Device& device = parts_.detector.device();
  if (has_random_source(device)) c.device_random_state = random_source(device).get_state();
  if (!parts_.ranks.is_alone()) {
    const auto states = parts_.ranks.gather(bytes_of(c.random_state));
    const auto on_devices = parts_.ranks.gather(has_random_source(device) ? bytes_of(c.device_random_state) : "");
    for (std::size_t r = 1; r < states.size(); ++r) {
      c.other_ranks.push_back({state_of(states[r]), on_devices[r].empty() ? torch::Tensor() : state_of(on_devices[r])});
    }
  }
  c.hooks = parts_.hooks.save_states();
  for (const auto& observer : observers_) {
    if (!observer->name().empty()) c.observers[observer->name()] = observer->save();
  }
  c.metrics = state_.run.metrics;
  return c;
}

void Trainer::seed_rank() const {
  torch::manual_seed(settings_.seed + 0x9e3779b97f4a7c15ULL * static_cast<std::uint64_t>(parts_.ranks.rank()));
}

void Trainer::restore_random(const Checkpoint& c) const {
  const auto ranks = static_cast<std::size_t>(parts_.ranks.size()), saved = c.other_ranks.size() + 1;
  const auto rank = static_cast<std::size_t>(parts_.ranks.rank());
  if (saved != ranks) {
    parts_.progress.line("warning: the run was saved by " + counted(saved, "process", "processes") +
                         " and goes on with " + std::to_string(ranks) +
                         ": its numbers will differ from those of an unbroken run");
    if (rank >= saved) return;
  }
  const torch::Tensor &own = rank == 0 ? c.random_state : c.other_ranks[rank - 1].random_state,
                      &on_device = rank == 0 ? c.device_random_state : c.other_ranks[rank - 1].device_random_state;
  try {
    auto source = random_source();
    source.set_state(own);
    if (has_random_source(parts_.detector.device()) && on_device.defined()) {
      auto device_source = random_source(parts_.detector.device());
      device_source.set_state(on_device);
    }
  } catch (const std::exception& e) {
    throw UserError(ExitCode::data, "the checkpoint's random state is damaged: " + short_message(e));
  }
}

void Trainer::restore(const Checkpoint& c) {
  if (c.position.epoch > settings_.epochs || c.position.position > settings_.batches_per_epoch(parts_.train.size())) {
    throw UserError(ExitCode::data, "the checkpoint is past the end of this run");
  }
  const std::string now = labels_digest_like(c.labels, parts_.train.labels());
  if (!c.labels.empty() && c.labels != now) {
    throw UserError(ExitCode::data, "the labels have changed since the run began:\n  then: " + c.labels +
                                        "\n  now:  " + now +
                                        "\n  advice: restore them, or start a new run with the current ones (and these "
                                        "weights: --set train.weights=" +
                                        store_.last().string() + ")");
  }
  state_.at = c.position;
  state_.run.epoch = c.position.epoch;
  state_.run.step = c.position.step;
  state_.run.resumed = true;
  updater_.restore(c);
  parts_.hooks.load_states(state_.run, c.hooks);
  restore_random(c);
  for (const auto& observer : observers_) {
    const auto saved = c.observers.find(observer->name());
    if (saved == c.observers.end()) continue;
    try {
      observer->restore(saved->second);
    } catch (const Json::exception& e) {
      throw UserError(ExitCode::data, "the checkpoint's state of '" + saved->first + "' is damaged: " + e.what());
    }
  }
}

}  // namespace bdc::host
