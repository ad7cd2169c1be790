#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "bdc/plugin/detector.h"
#include "bdc/plugin/info.h"
#include "bdc/plugin/types.h"

namespace bdc::plugin {

/// The run a hook takes part in. Lives as long as the run.
struct RunContext {
  Detector* detector = nullptr;
  std::string run_folder;
  std::int64_t num_classes = 0;
  std::int64_t num_annotators = 0;  ///< 0 when the labels have no annotators
  std::int64_t num_images = 0;      ///< of the training set
  std::int64_t epochs = 0;
  std::int64_t epoch = 0;  ///< current epoch, from 0
  std::int64_t step = 0;   ///< optimiser steps done so far in the run
  bool resumed = false;    ///< before_fit of a run that goes on from a checkpoint: load_state was called before
  /// Numbers for the log; written with the next record of the run and then cleared. Use "hookname/what" as the key.
  std::map<std::string, double> metrics;
};

/// One step between forward and loss.
struct LossContext {
  const Images* images = nullptr;
  const Predictions* predictions = nullptr;  ///< null unless HookInfo::needs_predictions
  const CrowdLabels* crowd = nullptr;        ///< null when the labels have no annotators
  Targets* targets = nullptr;                ///< a hook may replace them; the host validates what is left behind
};

/// Takes part in training. The host calls the stages in the order of the picture, hooks by priority (0 first):
///
///     before_fit
///     for each epoch:  before_epoch
///       for each step:   forward, decode -> before_loss -> loss, backward, optimiser -> after_step
///                      after_epoch        (after the evaluation of the epoch, before its checkpoint)
///     after_fit                           (always, also when the run is interrupted or fails)
///
/// A stage that throws ends the run: on_exception of every hook, then after_fit of every hook, then the error reaches
/// the user. An interrupt is no exception: the step is finished, the checkpoint saved, after_fit called.
/// A hook's state goes into every checkpoint; load_state gets exactly what save_state gave, before before_fit.
class TrainingHook {
 public:
  virtual ~TrainingHook() = default;

  virtual void before_fit(RunContext&) {}
  virtual void before_epoch(RunContext&) {}
  virtual void before_loss(RunContext&, LossContext&) {}
  virtual void after_step(RunContext&, const LossTerms&) {}
  virtual void after_epoch(RunContext&) {}
  virtual void after_fit(RunContext&) {}
  /// `stage` is the stage that threw, e.g. "before_loss of hook bdc" or "loss of plugin yolov7".
  virtual void on_exception(RunContext&, const std::string& /*stage*/, const std::string& /*message*/) {}

  [[nodiscard]] virtual std::string save_state() const { return {}; }
  /// Throws std::invalid_argument when the bytes are not a state of this hook.
  virtual void load_state(const std::string& bytes) {
    if (!bytes.empty()) throw std::invalid_argument("this hook has no state, but the checkpoint holds one");
  }
};

}  // namespace bdc::plugin
