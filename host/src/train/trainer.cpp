#include "train/trainer.h"

#include <ATen/CPUGeneratorImpl.h>
#include <torch/nn.h>
#include <torch/utils.h>

#include <cmath>
#include <fstream>
#include <numeric>

#include "app/user_error.h"
#include "config/config.h"
#include "shapes/random.h"
#include "text/table.h"
#include "train/evaluate.h"

namespace bdc::host {
namespace {

at::Generator random_source() {
  return at::detail::getDefaultCPUGenerator();
}

}  // namespace

TrainSettings train_settings(const Json& config) {
  const auto number = [&](const char* key) { return config_value<double>(config, key); };
  const auto integer = [&](const char* key) { return config_value<std::int64_t>(config, key); };
  const auto text = [&](const char* key) { return config_value<std::string>(config, key); };
  TrainSettings s;
  s.epochs = integer("train.epochs");
  s.batch_size = integer("train.batch_size");
  s.input_size = integer("train.input_size");
  s.optimizer = {text("train.optimizer"), number("train.momentum"), number("train.weight_decay"),
                 number("train.clip_norm")};
  s.learning_rate = number("train.learning_rate");
  s.schedule = text("train.schedule");
  s.warmup_steps = integer("train.warmup_steps");
  s.seed = static_cast<std::uint64_t>(integer("train.seed"));
  s.evaluate_every = integer("train.evaluate_every");
  s.limits = {number("evaluate.min_score"), number("evaluate.nms_iou"), integer("evaluate.max_per_image")};
  return s;
}

double learning_rate_at(const TrainSettings& settings, std::int64_t step, std::int64_t total) {
  const double warm = settings.warmup_steps > 0
                          ? std::fmin(1.0, static_cast<double>(step + 1) / static_cast<double>(settings.warmup_steps))
                          : 1.0;
  if (settings.schedule == "constant") return settings.learning_rate * warm;
  constexpr double kLast = 0.01;
  const double done = total > 1 ? static_cast<double>(step) / static_cast<double>(total - 1) : 0.0;
  const double cosine = kLast + (1 - kLast) * 0.5 * (1 + std::cos(3.141592653589793 * std::fmin(1.0, done)));
  return settings.learning_rate * warm * cosine;
}

std::vector<std::int64_t> epoch_order(std::uint64_t seed, std::int64_t epoch, std::int64_t count) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), std::int64_t{0});
  Random random(seed, 3, static_cast<std::uint64_t>(epoch));
  for (std::size_t i = order.size(); i > 1; --i) {
    std::swap(order[i - 1], order[static_cast<std::size_t>(random.below(static_cast<std::int64_t>(i)))]);
  }
  return order;
}

Trainer::Trainer(TrainerParts parts, const TrainSettings& settings)
    : parts_(std::move(parts)),
      settings_(settings),
      optimizer_(parts_.detector.parameter_groups(), settings.optimizer),
      steps_per_epoch_((parts_.train.size() + settings.batch_size - 1) / settings.batch_size) {
  run_.detector = &parts_.detector.detector();
  run_.run_folder = parts_.folder.string();
  run_.num_classes = parts_.detector.num_classes();
  run_.num_annotators = static_cast<std::int64_t>(parts_.train.labels().annotators.size());
  run_.num_images = parts_.train.size();
  run_.epochs = settings.epochs;
}

FitResult Trainer::fit(const Checkpoint* resume) {
  torch::manual_seed(settings_.seed);
  if (resume) restore(*resume);
  FitResult result;
  try {
    stage_ = "before_fit";
    parts_.hooks.before_fit(run_);
    result = run_epochs();
  } catch (const std::exception& e) {
    parts_.hooks.on_exception(run_, stage_, e.what());
    try {
      parts_.hooks.after_fit(run_);
    } catch (const std::exception&) {  // the first error is the one to report
    }
    throw;
  }
  stage_ = "after_fit";
  parts_.hooks.after_fit(run_);
  return result;
}

FitResult Trainer::run_epochs() {
  FitResult result;
  parts_.detector.module().train();
  while (at_.epoch < settings_.epochs) {
    run_.epoch = at_.epoch;
    loss_sum_ = 0;
    loss_count_ = 0;
    epoch_started_ = now_seconds();
    if (at_.position == 0) {
      stage_ = "before_epoch";
      parts_.hooks.before_epoch(run_);
    }
    if (!run_epoch()) {
      save();
      result.interrupted = true;
      return result;
    }
    finish_epoch(result);
  }
  return result;
}

bool Trainer::run_epoch() {
  const auto order = epoch_order(settings_.seed, at_.epoch, parts_.train.size());
  while (at_.position < steps_per_epoch_) {
    if (parts_.stop) return false;
    const auto from = static_cast<std::size_t>(at_.position * settings_.batch_size);
    const auto to = std::min(order.size(), from + static_cast<std::size_t>(settings_.batch_size));
    run_step({order.begin() + static_cast<std::ptrdiff_t>(from), order.begin() + static_cast<std::ptrdiff_t>(to)});
    ++at_.position;
    const double elapsed = now_seconds() - epoch_started_,
                 left = static_cast<double>(steps_per_epoch_ * settings_.epochs - at_.step);
    const double rate = static_cast<double>(loss_count_) / std::fmax(elapsed, 1e-9);
    parts_.progress.live("epoch " + std::to_string(at_.epoch + 1) + "/" + std::to_string(settings_.epochs) + "  step " +
                         std::to_string(at_.position) + "/" + std::to_string(steps_per_epoch_) + "  loss " +
                         fixed(loss_sum_ / static_cast<double>(loss_count_), 3) + "  " +
                         fixed(rate * static_cast<double>(settings_.batch_size), 0) + " images/s  ETA " +
                         clock_text(left / rate));
  }
  return !parts_.stop || at_.epoch + 1 >= settings_.epochs;
}

void Trainer::run_step(const std::vector<std::int64_t>& indices) {
  stage_ = "loading a batch";
  Batch batch = make_batch(parts_.train, indices, settings_.input_size);
  const auto size = static_cast<std::int64_t>(indices.size());
  stage_ = "forward of plugin " + parts_.detector.name();
  const auto activations = parts_.detector.forward(batch.images);
  plugin::LossContext step{&batch.images, nullptr, run_.num_annotators > 0 ? &batch.crowd : nullptr, &batch.targets};
  plugin::Predictions predictions;
  if (parts_.hooks.needs_predictions()) {
    stage_ = "decode of plugin " + parts_.detector.name();
    predictions = parts_.detector.decode(*activations, settings_.limits, size);
    step.predictions = &predictions;
  }
  stage_ = "before_loss";
  parts_.hooks.before_loss(run_, step);
  stage_ = "loss of plugin " + parts_.detector.name();
  const plugin::LossTerms terms = parts_.detector.loss(*activations, batch.targets);
  const double loss = terms.total.item<double>();
  require_finite(loss, batch.images);
  optimizer_.zero_grad();
  stage_ = "backward of plugin " + parts_.detector.name();
  call_plugin("plugin '" + parts_.detector.name() + "'", "backward", [&] { terms.total.backward(); });
  const double norm = optimizer_.step(learning_rate_at(settings_, at_.step, steps_per_epoch_ * settings_.epochs));
  require_finite(norm, batch.images);
  loss_sum_ += loss;
  ++loss_count_;
  ++at_.step;
  run_.step = at_.step;
  stage_ = "after_step";
  parts_.hooks.after_step(run_, terms);
}

void Trainer::require_finite(double value, const plugin::Images& images) {
  if (std::isfinite(value)) return;
  Json report = {{"epoch", at_.epoch}, {"step", at_.step}, {"images", Json::array()}};
  for (const auto& meta : images.meta) {
    report["images"].push_back(parts_.train.labels().images[static_cast<std::size_t>(meta.index)].id.text);
  }
  const auto file = parts_.folder / "non_finite.json";
  write_file_atomically(file, report.dump(2) + "\n");
  throw UserError(ExitCode::non_finite,
                  "the loss or its gradient is not finite in epoch " + std::to_string(at_.epoch + 1) + ", step " +
                      std::to_string(at_.position + 1) + "; the batch's images are in " + file.string() +
                      "\n  advice: a lower train.learning_rate, a smaller train.clip_norm, or a look at "
                      "those images; the last checkpoint is from before this step");
}

void Trainer::finish_epoch(FitResult& result) {
  const bool last = at_.epoch + 1 == settings_.epochs;
  const double train_seconds = now_seconds() - epoch_started_;
  std::optional<CocoEvalResult> evaluation;
  if (last || (at_.epoch + 1) % settings_.evaluate_every == 0) {
    stage_ = "evaluation with plugin " + parts_.detector.name();
    evaluation = evaluate(parts_.detector, parts_.test, settings_.input_size, settings_.batch_size, settings_.limits,
                          [&](std::int64_t done) {
                            parts_.progress.live("epoch " + std::to_string(at_.epoch + 1) + "/" +
                                                 std::to_string(settings_.epochs) + "  evaluating " +
                                                 std::to_string(done) + "/" + std::to_string(parts_.test.size()));
                          });
    run_.metrics["test/AP"] = evaluation->stats[0];
    run_.metrics["test/AP50"] = evaluation->stats[1];
    run_.metrics["test/AP75"] = evaluation->stats[2];
  }
  if (loss_count_ > 0) run_.metrics["train/loss"] = loss_sum_ / static_cast<double>(loss_count_);
  stage_ = "after_epoch";
  parts_.hooks.after_epoch(run_);
  std::string line = "epoch " + std::to_string(at_.epoch + 1) + "/" + std::to_string(settings_.epochs);
  if (loss_count_ > 0) line += "  loss " + fixed(loss_sum_ / static_cast<double>(loss_count_), 3);
  if (evaluation) line += "  AP50 " + fixed(evaluation->stats[1], 3) + "  AP " + fixed(evaluation->stats[0], 3);
  line += "  " + fixed(train_seconds, 1) + " s";
  parts_.progress.line(line);
  log_epoch(evaluation);
  if (evaluation) result.evaluation = std::move(evaluation);
  ++at_.epoch;
  at_.position = 0;
  save();
}

void Trainer::log_epoch(const std::optional<CocoEvalResult>&) {
  Json record = {{"epoch", at_.epoch + 1}, {"step", at_.step}};
  for (const auto& [name, value] : run_.metrics) record[name] = value;
  run_.metrics.clear();
  std::ofstream out(parts_.folder / "metrics.jsonl", std::ios::app);
  out << record.dump() << "\n";
  if (!out.flush())
    throw UserError(ExitCode::failure, (parts_.folder / "metrics.jsonl").string() + ": cannot be written");
}

void Trainer::save() {
  stage_ = "saving a checkpoint";
  Checkpoint c;
  c.position = at_;
  c.config = parts_.config;
  c.model = module_state(parts_.detector.module());
  c.optimizer = optimizer_.state();
  c.random_state = random_source().get_state();
  c.hooks = parts_.hooks.save_states();
  write_checkpoint(parts_.folder / "last.safetensors", c);
}

void Trainer::restore(const Checkpoint& c) {
  if (c.position.epoch > settings_.epochs || c.position.position > steps_per_epoch_) {
    throw UserError(ExitCode::data, "the checkpoint is further than this run goes");
  }
  load_module_state(parts_.detector.module(), c.model);
  optimizer_.load_state(c.optimizer);
  parts_.hooks.load_states(c.hooks);
  try {
    auto source = random_source();
    source.set_state(c.random_state);
  } catch (const std::exception& e) {
    throw UserError(ExitCode::data, "the checkpoint's random state is damaged: " + short_message(e));
  }
  at_ = c.position;
  run_.epoch = at_.epoch;
  run_.step = at_.step;
  run_.resumed = true;
}

}  // namespace bdc::host
