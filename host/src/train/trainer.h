#pragma once

#include <atomic>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "console/progress.h"
#include "data/batch.h"
#include "hooks/hook_list.h"
#include "shapes/dataset.h"
#include "train/checkpoint.h"
#include "train/detector_handle.h"
#include "train/fit_result.h"
#include "train/optimizer.h"

namespace bdc::host {

struct TrainSettings {
  std::int64_t epochs = 10, batch_size = 16, input_size = 96;
  OptimizerSettings optimizer;
  double learning_rate = 0.01;
  std::string schedule = "cosine";  ///< "cosine" to a hundredth, or "constant"
  std::int64_t warmup_steps = 20;
  std::uint64_t seed = 0;
  std::int64_t evaluate_every = 1;
  plugin::DecodeOptions limits;
};

/// Settings from a resolved config, where the plugin's recommendations have replaced every null.
[[nodiscard]] TrainSettings train_settings(const Json& config);

/// The learning rate of optimiser step `step` (from 0) of `total`.
[[nodiscard]] double learning_rate_at(const TrainSettings& settings, std::int64_t step, std::int64_t total);

/// The order in which epoch `epoch` visits `count` images; depends on seed and epoch alone.
[[nodiscard]] std::vector<std::int64_t> epoch_order(std::uint64_t seed, std::int64_t epoch, std::int64_t count);

/// What a run is made of. Everything is borrowed and must outlive the trainer.
struct TrainerParts {
  DetectorHandle& detector;
  const Dataset& train;
  const Dataset& test;
  HookList& hooks;
  Progress& progress;
  const std::atomic<bool>& stop;  ///< set by a signal: finish the step, save, leave
  std::filesystem::path folder;   ///< of the run; exists
  Json config;                    ///< resolved; goes into every checkpoint
};

/// The training loop. The order of everything is the picture in bdc/plugin/hook.h. The same seed, config and thread
/// count give the same bits, and so does a run that was interrupted and resumed.
class Trainer {
 public:
  Trainer(TrainerParts parts, const TrainSettings& settings);

  /// Trains from the start or from a checkpoint. Throws UserError: exit 7 from plugins and hooks, exit 9 when the loss
  /// is not finite (the batch's image ids are in non_finite.json in the run folder).
  FitResult fit(const Checkpoint* resume = nullptr);

 private:
  FitResult run_epochs();
  bool run_epoch();  ///< false: interrupted
  void run_step(const std::vector<std::int64_t>& indices);
  void finish_epoch(FitResult& result);
  void restore(const Checkpoint& checkpoint);
  void save();
  void require_finite(double loss, const plugin::Images& images);
  void log_epoch(const std::optional<CocoEvalResult>& evaluation);

  TrainerParts parts_;
  TrainSettings settings_;
  Optimizer optimizer_;
  plugin::RunContext run_;
  RunPosition at_;
  std::int64_t steps_per_epoch_;
  std::string stage_ = "before_fit";
  double loss_sum_ = 0;  // over the steps of this epoch since it was begun or resumed
  std::int64_t loss_count_ = 0;
  double epoch_started_ = 0;
};

}  // namespace bdc::host
