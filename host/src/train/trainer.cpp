#include "train/trainer.h"

#include <ATen/CPUGeneratorImpl.h>
#include <torch/nn.h>
#include <torch/utils.h>

#include <cmath>
#include <cstdio>
#include <numeric>

#include "app/user_error.h"
#include "bdc/base/random.h"
#include "config/config.h"
#include "data/labels_digest.h"
#include "data/loader.h"
#include "data/open_data.h"
#include "text/table.h"
#include "train/evaluate.h"
#include "train/loss_watch.h"
#include "train/run_pictures.h"

namespace bdc::host {
namespace {

constexpr std::int64_t kBatchPictures = 5;  ///< about so many in a run

at::Generator random_source() {
  return at::detail::getDefaultCPUGenerator();
}

at::Generator random_source(const torch::Device& device) {
  return at::globalContext().defaultGenerator(device);
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
  s.accumulate = integer("train.accumulate");
  s.optimizer = {text("train.optimizer"), number("train.momentum"), config_value<bool>(config, "train.nesterov"),
                 number("train.weight_decay"), number("train.clip_norm")};
  s.learning_rate.start = number("train.learning_rate");
  s.learning_rate.schedule = text("train.schedule");
  s.learning_rate.final_share = number("train.final_share");
  s.learning_rate.warmup_steps = integer("train.warmup_steps");
  s.ema_decay = number("train.ema_decay");
  s.seed = static_cast<std::uint64_t>(integer("train.seed"));
  s.evaluate_every = integer("train.evaluate_every");
  s.hook_min_score = number("train.hook_min_score");
  s.patience = integer("train.patience");
  s.checkpoint_every = integer("train.checkpoint_every");
  s.augment = augment_settings(config);
  s.workers = loader_workers(config);
  s.half_precision = config_value<bool>(config, "train.amp");
  s.limits = {number("evaluate.min_score"), number("evaluate.nms_iou"), integer("evaluate.max_per_image")};
  return s;
}

std::int64_t TrainSettings::batches_per_epoch(std::int64_t images) const {
  return (images + batch_size - 1) / batch_size;
}

std::int64_t TrainSettings::steps_per_epoch(std::int64_t images) const {
  return (batches_per_epoch(images) + accumulate - 1) / accumulate;
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
      loss_scale_(settings.half_precision && parts_.detector.device().is_cuda()),
      ema_(parts_.detector.module(), settings.ema_decay),
      checkpoints_(parts_.folder),
      batches_per_epoch_(settings.batches_per_epoch(parts_.train.size())),
      steps_per_epoch_(settings.steps_per_epoch(parts_.train.size())) {
  if (settings.half_precision) parts_.detector.use_half_precision();
  labels_digest_ = labels_digest(parts_.train.labels());
  run_.detector = &parts_.detector.detector();
  run_.run_folder = parts_.folder.string();
  run_.num_classes = parts_.detector.num_classes();
  run_.num_annotators = static_cast<std::int64_t>(parts_.train.labels().annotators.size());
  run_.num_images = parts_.train.size();
  run_.epochs = settings.epochs;
}

FitResult Trainer::fit(const Checkpoint* resume) {
  torch::manual_seed(settings_.seed);
  if (resume) {
    restore(*resume);
    parts_.progress.line(is_finished() ? parts_.folder.string() + ": is already finished: " + end_reason()
                                       : "going on with " + parts_.folder.string());
  }
  log_.emplace(parts_.folder, at_.epoch);
  std::error_code ignored;  // the first picture will tell
  std::filesystem::create_directories(parts_.folder / "pictures", ignored);
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
  result.was_finished = is_finished();
  parts_.detector.module().train();
  while (!is_finished()) {
    run_.epoch = at_.epoch;
    images_done_ = 0;
    first_position_ = at_.position;
    epoch_started_ = now_seconds();
    (void)clock_.take();
    clock_.begin("hooks");
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
  result.stopped_early = at_.epoch < settings_.epochs;
  if (result.stopped_early && !result.was_finished) parts_.progress.line("stopped: " + end_reason());
  result.best_ap = best_;
  result.best_epoch = best_epoch_;
  return result;
}

bool Trainer::has_lost_patience() const {
  return settings_.patience > 0 && best_epoch_ > 0 && at_.position == 0 &&
         at_.epoch - best_epoch_ >= settings_.patience;
}

bool Trainer::is_finished() const {
  return at_.epoch >= settings_.epochs || has_lost_patience();
}

std::string Trainer::end_reason() const {
  if (at_.epoch >= settings_.epochs) return "all " + std::to_string(settings_.epochs) + " epochs are done";
  const std::int64_t waited = at_.epoch - best_epoch_;
  return "AP has not risen for " + std::to_string(waited) + (waited == 1 ? " epoch" : " epochs") +
         " (train.patience); the best was " + fixed(best_, 3) + " in epoch " + std::to_string(best_epoch_);
}

bool Trainer::run_epoch() {
  const auto order = epoch_order(settings_.seed, at_.epoch, parts_.train.size());
  std::vector<std::vector<std::int64_t>> lists;
  for (std::size_t from = 0; from < order.size(); from += static_cast<std::size_t>(settings_.batch_size)) {
    const auto to = std::min(order.size(), from + static_cast<std::size_t>(settings_.batch_size));
    lists.emplace_back(order.begin() + static_cast<std::ptrdiff_t>(from),
                       order.begin() + static_cast<std::ptrdiff_t>(to));
  }
  LoaderSettings loading;
  loading.input_size = settings_.input_size;
  loading.batch = {settings_.augment, settings_.seed, at_.epoch, 0};
  loading.workers = settings_.workers;
  loading.first = at_.position;
  BatchLoader loader(parts_.train, std::move(lists), loading);
  plugin::Images last;
  while (at_.position < batches_per_epoch_) {
    if (parts_.stop && pending_ == 0) return false;
    stage_ = "loading a batch";
    clock_.begin("loading");
    std::optional<Batch> batch = loader.next();
    if (!batch) break;
    run_batch(*batch);
    last = batch->images;
    at_.position = batch->number + 1;
    if (at_.position % settings_.accumulate == 0) run_optimizer(last);
    show_progress();
    if (pending_ == 0 && settings_.checkpoint_every > 0 && at_.step % settings_.checkpoint_every == 0) save();
  }
  if (pending_ > 0) run_optimizer(last);
  at_.position = batches_per_epoch_;
  return !parts_.stop || at_.epoch + 1 >= settings_.epochs;
}

void Trainer::show_progress() {
  const double elapsed = std::fmax(now_seconds() - epoch_started_, 1e-9);
  const auto left = static_cast<double>((settings_.epochs - at_.epoch) * batches_per_epoch_ - at_.position);
  const auto count = static_cast<double>(std::max<std::int64_t>(1, losses_.batches));
  const double rate = static_cast<double>(std::max<std::int64_t>(1, at_.position - first_position_)) / elapsed;
  std::string losses;
  for (const auto& [name, sum] : losses_.sums) {
    if (name != "loss") losses += (losses.empty() ? "" : ", ") + name + " " + fixed(sum / count, 3);
  }
  parts_.progress.live("epoch " + std::to_string(at_.epoch + 1) + "/" + std::to_string(settings_.epochs) + "  step " +
                           std::to_string(at_.position) + "/" + std::to_string(batches_per_epoch_) + "  loss " +
                           fixed(losses_.sums["loss"] / count, 3),
                       losses.empty() ? "" : " (" + losses + ")",
                       "  " + fixed(static_cast<double>(images_done_) / elapsed, 0) + " images/s  ETA " +
                           clock_text(left / rate) + "  " + memory_text());
}

void Trainer::tell_broken_images() {
  constexpr std::size_t kMost = 10;
  std::vector<std::string> fresh;
  for (const Dataset* data : {&parts_.train, &parts_.test}) {
    for (const std::string& broken : data->broken_images()) {
      if (told_broken_.insert(broken).second) fresh.push_back(broken);
    }
  }
  for (std::size_t n = 0; n < std::min(kMost, fresh.size()); ++n) parts_.progress.line("left out: " + fresh[n]);
  if (fresh.size() > kMost) parts_.progress.line("left out: " + std::to_string(fresh.size() - kMost) + " more");
  if (!fresh.empty()) {
    parts_.progress.line(std::to_string(told_broken_.size()) + (told_broken_.size() == 1 ? " image" : " images") +
                         " left out so far");
  }
}

void Trainer::run_batch(Batch& batch) {
  stage_ = "forward of plugin " + parts_.detector.name();
  clock_.begin("forward");
  const auto activations = parts_.detector.forward(batch.images);
  plugin::LossContext step{&batch.images, nullptr, run_.num_annotators > 0 ? &batch.crowd : nullptr, &batch.targets};
  plugin::Predictions predictions;
  clock_.begin("hooks");
  if (parts_.hooks.needs_predictions()) {
    stage_ = "decode of plugin " + parts_.detector.name();
    predictions = parts_.detector.decode(*activations, hook_limits(), batch.size());
    step.predictions = &predictions;
  }
  stage_ = "before_loss";
  parts_.hooks.before_loss(run_, step);
  if (is_pictured()) {
    stage_ = "drawing a picture";
    clock_.begin("pictures");
    try_picture([&] {
      write_batch_picture(parts_.folder / "pictures" / ("batch_epoch_" + std::to_string(at_.epoch + 1) + ".png"), batch,
                          class_names(parts_.train.labels()));
    });
  }
  stage_ = "loss of plugin " + parts_.detector.name();
  clock_.begin("loss");
  const plugin::LossTerms terms = parts_.detector.loss(*activations, batch.targets);
  const double loss = terms.total.item<double>();
  if (loss_scale_.is_exhausted()) require_finite(loss, batch.images, at_.position + 1);
  if (pending_ == 0) optimizer_.zero_grad();
  stage_ = "backward of plugin " + parts_.detector.name();
  clock_.begin("backward");
  const double share = loss_scale_.factor() / static_cast<double>(settings_.accumulate);
  call_plugin("plugin '" + parts_.detector.name() + "'", "backward",
              [&] { (share == 1.0 ? terms.total : terms.total * share).backward(); });
  clock_.begin("optimiser");
  ++pending_;
  images_done_ += batch.size();
  latest_terms_ = {terms.total.detach(), terms.parts};
  if (!std::isfinite(loss)) return;  // the loss scale will be halved
  losses_.sums["loss"] += loss;
  for (const auto& [name, value] : terms.parts) losses_.sums[name] += value.item<double>();
  ++losses_.batches;
}

void Trainer::try_picture(const std::function<void()>& draw) {
  try {
    draw();
  } catch (const UserError& e) {
    if (has_told_picture_) return;
    has_told_picture_ = true;
    parts_.progress.line("warning: " + std::string(e.what()) +
                         "\n  training goes on; this is said once, of the first picture that cannot be written");
  }
}

bool Trainer::is_pictured() const {
  return at_.position == 0 && at_.epoch % std::max<std::int64_t>(1, settings_.epochs / kBatchPictures) == 0;
}

void Trainer::run_optimizer(const plugin::Images& images) {
  stage_ = "optimiser step";
  const double rate = settings_.learning_rate.at(at_.step, steps_per_epoch_ * settings_.epochs);
  const double norm = optimizer_.step(rate, loss_scale_.factor());
  if (loss_scale_.is_exhausted()) require_finite(norm, images, at_.position);
  loss_scale_.after_step(std::isfinite(norm));
  if (std::isfinite(norm)) ema_.update();
  pending_ = 0;
  ++at_.step;
  run_.step = at_.step;
  stage_ = "after_step";
  clock_.begin("hooks");
  parts_.hooks.after_step(run_, latest_terms_);
}

void Trainer::predict_training_set(const std::function<void(std::size_t image, const DetectedBoxes&)>& sink) {
  const Ema::Lent lent(ema_);
  predict_all(parts_.detector, parts_.train, settings_.input_size, settings_.batch_size, hook_limits(), sink);
}

plugin::DecodeOptions Trainer::hook_limits() const {
  plugin::DecodeOptions limits = settings_.limits;
  limits.min_score = settings_.hook_min_score;
  return limits;
}

void Trainer::require_finite(double value, const plugin::Images& images, std::int64_t step) {
  if (std::isfinite(value)) return;
  Json report = {{"epoch", at_.epoch + 1}, {"step", step}, {"global_step", at_.step + 1}, {"images", Json::array()}};
  for (const auto& meta : images.meta) {
    const ImageRecord& image = parts_.train.labels().images[static_cast<std::size_t>(meta.index)];
    Json entry = Json::object();
    entry["id"] = image.id.text;
    entry["file"] = image.file;
    report["images"].push_back(std::move(entry));
  }
  const auto file = parts_.folder / "non_finite.json";
  write_file_atomically(file, report.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
  char lower[32];
  std::snprintf(lower, sizeof(lower), "%.3g", settings_.learning_rate.start / 10);
  throw UserError(ExitCode::non_finite,
                  "the loss or its gradient is not finite in epoch " + std::to_string(at_.epoch + 1) + ", step " +
                      std::to_string(step) + "; the batch's images are in " + file.string() +
                      "\n  advice: look at those images, or begin a new run with a lower learning rate (or a smaller "
                      "train.clip_norm):\n    bdc-host train --config " +
                      (parts_.folder / "config.json").string() + " --set output.name= --set train.learning_rate=" +
                      lower + "\n  --resume would come to the same step again: a run keeps its settings");
}

std::optional<CocoEvalResult> Trainer::evaluate_epoch() {
  const bool last = at_.epoch + 1 == settings_.epochs;
  if (!has_true_boxes(parts_.test.labels()) || (!last && (at_.epoch + 1) % settings_.evaluate_every != 0)) return {};
  stage_ = "evaluation with plugin " + parts_.detector.name();
  const Ema::Lent lent(ema_);
  CocoEvalResult evaluation = evaluate(
      parts_.detector, parts_.test, settings_.input_size, settings_.batch_size, settings_.limits,
      [&](std::int64_t done) {
        parts_.progress.live("epoch " + std::to_string(at_.epoch + 1) + "/" + std::to_string(settings_.epochs) +
                             "  evaluating " + std::to_string(done) + "/" + std::to_string(parts_.test.size()));
      });
  run_.metrics["test/AP"] = evaluation.stats[0];
  run_.metrics["test/AP50"] = evaluation.stats[1];
  run_.metrics["test/AP75"] = evaluation.stats[2];
  return evaluation;
}

void Trainer::keep_if_best(const CocoEvalResult& evaluation) {
  if (evaluation.stats[0] <= best_) return;
  best_ = evaluation.stats[0];
  best_epoch_ = at_.epoch + 1;
  checkpoints_.save_best(ema_.is_on() ? ema_.state() : module_state(parts_.detector.module()),
                         {{"epoch", best_epoch_},
                          {"AP", best_},
                          {"classes", class_names(parts_.train.labels())},
                          {"config", parts_.config}});
}

void Trainer::finish_epoch(FitResult& result) {
  const double train_seconds = now_seconds() - epoch_started_;
  clock_.begin("evaluation");
  std::optional<CocoEvalResult> evaluation = evaluate_epoch();
  for (const auto& [name, sum] : losses_.sums)
    run_.metrics["train/" + name] = sum / static_cast<double>(losses_.batches);
  run_.metrics["train/learning_rate"] = settings_.learning_rate.at(at_.step - 1, steps_per_epoch_ * settings_.epochs);
  if (images_done_ > 0) {  // none are when the run was interrupted after the last step
    run_.metrics["train/images_per_second"] = static_cast<double>(images_done_) / std::fmax(train_seconds, 1e-9);
  }
  stage_ = "after_epoch";
  clock_.begin("hooks");
  parts_.hooks.after_epoch(run_);
  for (const auto& [stage, seconds] : clock_.take()) run_.metrics["seconds/" + stage] = seconds;
  if (evaluation) keep_if_best(*evaluation);
  std::string line = "epoch " + std::to_string(at_.epoch + 1) + "/" + std::to_string(settings_.epochs);
  if (losses_.batches > 0) line += "  loss " + fixed(losses_.sums["loss"] / static_cast<double>(losses_.batches), 3);
  if (evaluation && evaluation->stats[0] >= 0)
    line += "  AP50 " + fixed(evaluation->stats[1], 3) + "  AP " + fixed(evaluation->stats[0], 3);
  for (const auto& name : parts_.hooks.names()) {
    const auto ap = run_.metrics.find(name + "/AP");
    if (ap != run_.metrics.end()) line += "  labels AP " + fixed(ap->second, 3);
  }
  line += "  " + fixed(train_seconds, 1) + " s";
  parts_.progress.line(line);
  tell_broken_images();
  if (!told_broken_.empty()) run_.metrics["data/broken_images"] = static_cast<double>(told_broken_.size());
  log_->add(at_.epoch + 1, at_.step, run_.metrics);
  run_.metrics.clear();
  if (has_run_away(log_->records())) {
    parts_.progress.line(
        "warning: the loss is ten times what it was at its lowest; a lower train.learning_rate, more "
        "train.warmup_steps or a smaller train.clip_norm may keep it down");
  }
  try_picture([&] { write_learning_curve(parts_.folder / "learning_curve.png", log_->records()); });
  if (evaluation) {
    try_picture([&] {
      write_precision_recall(parts_.folder / "precision_recall.png", *evaluation, class_names(parts_.train.labels()));
    });
  }
  if (evaluation) result.evaluation = std::move(evaluation);
  ++at_.epoch;
  at_.position = 0;
  losses_ = LossSums{};
  save();
}

void Trainer::save() {
  stage_ = "saving a checkpoint";
  clock_.begin("saving");
  Checkpoint c;
  c.position = at_;
  c.losses = losses_;
  c.config = parts_.config;
  c.classes = class_names(parts_.train.labels());
  c.labels = labels_digest_;
  c.model = module_state(parts_.detector.module());
  c.optimizer = optimizer_.state();
  c.ema = ema_.state();
  c.ema_updates = ema_.updates();
  c.best = best_;
  c.best_epoch = best_epoch_;
  c.random_state = random_source().get_state();
  const torch::Device& device = parts_.detector.device();
  if (!device.is_cpu()) c.device_random_state = random_source(device).get_state();
  c.loss_scale = loss_scale_.factor();
  c.loss_scale_good_steps = loss_scale_.good_steps();
  c.hooks = parts_.hooks.save_states();
  checkpoints_.save(c);
}

void Trainer::restore(const Checkpoint& c) {
  if (c.position.epoch > settings_.epochs || c.position.position > batches_per_epoch_) {
    throw UserError(ExitCode::data, "the checkpoint is further than this run goes");
  }
  if (!c.labels.empty() && c.labels != labels_digest_) {
    throw UserError(ExitCode::data, "the labels are not those that the run began with:\n  then: " + c.labels +
                                        "\n  now:  " + labels_digest_ +
                                        "\n  advice: put them back, or begin a new run with what is there now (its "
                                        "weights can go on: --set train.weights=" +
                                        checkpoints_.last().string() + ")");
  }
  load_module_state(parts_.detector.module(), c.model);
  optimizer_.load_state(c.optimizer);
  if (ema_.is_on()) ema_.load_state(c.ema, c.ema_updates);
  parts_.hooks.load_states(c.hooks);
  try {
    auto source = random_source();
    source.set_state(c.random_state);
    const torch::Device& device = parts_.detector.device();
    if (!device.is_cpu() && c.device_random_state.defined()) {
      auto on_device = random_source(device);
      on_device.set_state(c.device_random_state);
    }
  } catch (const std::exception& e) {
    throw UserError(ExitCode::data, "the checkpoint's random state is damaged: " + short_message(e));
  }
  loss_scale_.restore(c.loss_scale, c.loss_scale_good_steps);
  at_ = c.position;
  losses_ = c.losses;
  best_ = c.best;
  best_epoch_ = c.best_epoch;
  run_.epoch = at_.epoch;
  run_.step = at_.step;
  run_.resumed = true;
}

}  // namespace bdc::host
