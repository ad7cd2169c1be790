#pragma once

#include <atomic>
#include <filesystem>
#include <string>

#include "data/dataset.h"
#include "data/loader.h"
#include "engine/detector_handle.h"
#include "engine/hooks/hook_list.h"
#include "engine/loop_state.h"
#include "engine/observers/observer.h"
#include "engine/shared_batch.h"
#include "engine/train_settings.h"
#include "engine/weight_updater.h"

namespace bdc::host {

/// What the loop works with. Everything is borrowed.
struct LoopParts {
  DetectorHandle& detector;
  const Dataset& train;
  HookList& hooks;
  WeightUpdater& updater;
  const TrainSettings& settings;
  const Observers& observers;
  const std::atomic<bool>& stop;  ///< set by a signal: finish the step, save, leave
  std::filesystem::path folder;   ///< of the run
  Communicator& ranks;
};

/// The training loop: the picture in bdc/plugin/hook.h, with the events of observers/observer.h between its stages.
class Loop {
 public:
  /// Goes on from where `state` stands, and keeps it up to date.
  Loop(LoopParts parts, LoopState& state);

  /// All epochs that are left. False: interrupted.
  bool run();
  /// Whether no epoch is left, because all are done or an observer says so.
  [[nodiscard]] bool is_finished() const { return !end_reason().empty(); }
  /// Why no epoch is left; "": some are.
  [[nodiscard]] std::string end_reason() const;

 private:
  bool run_epoch();  ///< false: interrupted
  void begin_epoch();
  bool run_steps();  ///< likewise
  void end_epoch();
  void run_batch(Batch& batch);
  void sit_out_batch();
  /// Whether this process, or any of the ranks, has been asked to stop.
  [[nodiscard]] bool stop_asked();
  void note_place();
  /// Whether the batch at hand is the last one before a step.
  [[nodiscard]] bool ends_group() const;
  void make_step();
  [[nodiscard]] LoaderSettings loading() const;
  void check_finite(double value, std::int64_t position) const;
  void check_all_finite(double mean) const;
  void tell(void (Observer::*event)(LoopState&));

  LoopParts parts_;
  LoopState& state_;
  SharedBatch shared_;
  plugin::Images latest_images_;    ///< of the last batch
  plugin::LossTerms latest_terms_;  ///< its loss, detached
};

}  // namespace bdc::host
