#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "bdc/learn/online_bdc.h"
#include "console/progress.h"
#include "data/augment.h"
#include "data/batch.h"
#include "files/metrics_log.h"
#include "hooks/hook_list.h"
#include "shapes/dataset.h"
#include "train/checkpoint_store.h"
#include "train/detector_handle.h"
#include "train/ema.h"
#include "train/fit_result.h"
#include "train/mixed_precision.h"
#include "train/optimizer.h"
#include "train/schedule.h"
#include "train/stage_clock.h"

namespace bdc::host {

struct TrainSettings {
  std::int64_t epochs = 10, batch_size = 16, input_size = 96;
  std::int64_t accumulate = 1;  ///< batches whose gradients are added up for one optimiser step
  OptimizerSettings optimizer;
  LearningRate learning_rate;
  double ema_decay = 0;  ///< of the running mean of the weights; 0: none
  std::uint64_t seed = 0;
  std::int64_t evaluate_every = 1;
  std::int64_t patience = 0;          ///< epochs without a better AP after which training ends; 0: never
  std::int64_t checkpoint_every = 0;  ///< optimiser steps between checkpoints within an epoch; 0: at its end only
  double hook_min_score = 0.1;        ///< weaker predictions are not shown to hooks
  AugmentSettings augment;
  int workers = 0;              ///< threads that load batches ahead
  bool half_precision = false;  ///< where that is safe; needs no change of the detector
  plugin::DecodeOptions limits;

  [[nodiscard]] std::int64_t batches_per_epoch(std::int64_t images) const;
  [[nodiscard]] std::int64_t steps_per_epoch(std::int64_t images) const;  ///< of the optimiser
};

/// Settings from a resolved config, where the plugin's recommendations have replaced every null.
[[nodiscard]] TrainSettings train_settings(const Json& config);

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

  /// Trains from the start or from a checkpoint; says so when that one is of a finished run, and only calls the hooks'
  /// before_fit and after_fit then. Throws UserError: exit 7 from plugins and hooks, exit 9 when the loss
  /// is not finite (the batch's images are in non_finite.json in the run folder).
  FitResult fit(const Checkpoint* resume = nullptr);

  /// What the detector, with the mean weights where they are kept, sees in each training image: in order, in the
  /// original frame, without augmentation. For hooks.
  void predict_training_set(const std::function<void(std::size_t image, const DetectedBoxes&)>& sink);

 private:
  FitResult run_epochs();
  bool run_epoch();  ///< false: interrupted
  void run_batch(Batch& batch);
  void run_optimizer(const plugin::Images& images);
  void finish_epoch(FitResult& result);
  std::optional<CocoEvalResult> evaluate_epoch();
  void keep_if_best(const CocoEvalResult& evaluation);
  [[nodiscard]] bool has_lost_patience() const;
  [[nodiscard]] bool is_finished() const;
  [[nodiscard]] std::string end_reason() const;  ///< of a finished run
  void restore(const Checkpoint& checkpoint);
  void save();
  /// step: of the epoch, counted from 1.
  void require_finite(double value, const plugin::Images& images, std::int64_t step);
  void show_progress();
  void tell_broken_images();
  /// Writes a picture; that this fails (a full disk) is a warning, told once.
  void try_picture(const std::function<void()>& draw);
  [[nodiscard]] plugin::DecodeOptions hook_limits() const;
  [[nodiscard]] bool is_pictured() const;

  TrainerParts parts_;
  TrainSettings settings_;
  Optimizer optimizer_;
  LossScale loss_scale_;
  plugin::RunContext run_;
  Ema ema_;
  CheckpointStore checkpoints_;
  std::string labels_digest_;
  std::optional<MetricsLog> log_;
  RunPosition at_;
  double best_ = -1;
  std::int64_t best_epoch_ = 0;
  std::int64_t batches_per_epoch_, steps_per_epoch_;
  plugin::LossTerms latest_terms_;
  std::int64_t pending_ = 0;  ///< batches whose gradients wait for the optimiser
  std::string stage_ = "before_fit";
  LossSums losses_;  ///< of this epoch
  // Since the epoch was begun or resumed.
  std::int64_t first_position_ = 0, images_done_ = 0;
  double epoch_started_ = 0;
  StageClock clock_;
  std::set<std::string> told_broken_;
  bool has_told_picture_ = false;
};

}  // namespace bdc::host
