#pragma once

#include <atomic>
#include <filesystem>
#include <string>

#include "data/dataset.h"
#include "engine/checkpoint_store.h"
#include "engine/detector_handle.h"
#include "engine/hooks/hook_list.h"
#include "engine/loop.h"
#include "engine/observers/best_weights.h"
#include "engine/observers/evaluation.h"
#include "engine/train_settings.h"
#include "engine/weight_updater.h"
#include "engine_api/train_result.h"
#include "ranks/communicator.h"
#include "show/progress.h"

namespace bdc::host {

/// What a run is made of. Everything is borrowed and must outlive the trainer.
struct TrainerParts {
  DetectorHandle& detector;
  const Dataset& train;
  const Dataset& test;
  HookList& hooks;
  Progress& progress;
  const std::atomic<bool>& stop;  ///< set by a signal: finish the step, save, leave
  std::filesystem::path folder;   ///< of the run; exists
  std::string config;             ///< as it was written; goes into every checkpoint
  Communicator& ranks = Communicator::alone();
};

/// A run: the training loop (loop.h) with its observers, and the way into checkpoints and back. The same seed, config
/// and thread count give the same bits, and so does a run that was interrupted and resumed.
class Trainer {
 public:
  Trainer(TrainerParts parts, const TrainSettings& settings);

  /// Trains from the start or from a checkpoint; says so when that one is of a finished run, and only calls the hooks'
  /// before_fit and after_fit then. Throws UserError: exit 7 from plugins and hooks, exit 9 when the loss
  /// is not finite (the batch's images are in non_finite.json in the run folder).
  TrainResult fit(const Checkpoint* resume = nullptr);

 private:
  void add_observers();
  template <class Kind, class... Arguments>
  Kind& observe(Arguments&&... arguments);
  void begin(const Checkpoint* resume);
  TrainResult run_loop();
  /// All ranks have a part in it; rank 0 gets it whole.
  [[nodiscard]] Checkpoint snapshot() const;
  void restore(const Checkpoint& checkpoint);
  /// Random numbers of this rank's own; those of rank 0 are a single process's.
  void seed_rank() const;
  void restore_random(const Checkpoint& checkpoint) const;

  TrainerParts parts_;
  TrainSettings settings_;
  std::string labels_digest_;
  CheckpointStore store_;
  WeightUpdater updater_;
  LoopState state_;
  Observers observers_;
  const Evaluation* evaluation_ = nullptr;
  const BestWeights* best_ = nullptr;
  Loop loop_;
};

}  // namespace bdc::host
