#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "bdc/crowd/crowd_data.h"
#include "bdc/crowd/detected_boxes.h"
#include "bdc/crowd/predictions.h"
#include "bdc/crowd/targets.h"
#include "bdc/plugin/detector.h"
#include "bdc/plugin/info.h"
#include "bdc/plugin/types.h"

namespace bdc::plugin {

/// Gets what the detector sees in one training image, in the original frame; valid during the call.
using DetectionSink = std::function<void(std::size_t image, const DetectedBoxes& detections)>;

/// The run a hook takes part in. Lives as long as the run.
///
/// Labels, consensus and detections in original frames are bdc::core's own types, and its functions (grouping, fusion,
/// metrics, ...) work on them: bdc::plugin_api links bdc::core. These types are part of this contract: a change of
/// their layout is a new major version of the API.
struct RunContext {
  Detector* detector = nullptr;
  std::string run_folder;
  std::int64_t num_classes = 0;
  std::int64_t num_annotators = 0;  ///< 0 when the labels have no annotators
  std::int64_t num_images = 0;      ///< of the training set
  std::int64_t epochs = 0;
  std::int64_t epoch = 0;  ///< current epoch, from 0
  std::int64_t step = 0;   ///< optimiser steps done so far in the run
  bool resumed = false;    ///< the run continues from a checkpoint: load_state was called before before_fit
  int rank = 0, size = 1;  ///< this process among those that train together; only rank 0 may write files
  /// Numbers for the log; written with the next record of the run and then cleared. Use "hookname/what" as the key.
  /// They go into checkpoints, so a resumed run logs what an uninterrupted one does: what before_fit of a resumed run
  /// adds was logged before and is dropped.
  std::map<std::string, double> metrics;

  /// The labels of the training set: image i of them has ImageMeta::index i, boxes are in pixels of the original image.
  const CrowdData* labels = nullptr;
  /// labels->truth holds true boxes. They are for reports only: nothing derived from them may reach the targets.
  bool has_truth = false;
  /// What the detector sees in each training image now, in order, without augmentation: with the mean weights where
  /// they are kept, and without changing the detector. Broken images are left out. Costs a pass over the training set.
  std::function<void(const DetectionSink& sink)> predict_training_set;
  /// Shows a line on the console; it stays. Begin a warning with "warning: ".
  std::function<void(const std::string& text)> say;
  /// A consensus in the original frames of a batch's images (image b of it is image b of the batch) as targets in the
  /// input frame; boxes of which too little is left inside the input are dropped.
  std::function<Targets(const bdc::Targets& consensus, const Images& images)> map_targets;
  /// Predictions of a batch in the original frames of its images: the exact inverse of what targets go through.
  std::function<bdc::Predictions(const Predictions& predictions, const Images& images)> unmap_predictions;
};

/// One step between forward and loss.
struct LossContext {
  const Images* images = nullptr;
  const Predictions* predictions = nullptr;  ///< null unless HookInfo::needs_predictions
  const CrowdLabels* crowd = nullptr;        ///< null unless HookInfo::needs_crowd and there are annotators
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
/// the user. An interrupt is not an exception: the step is finished, the checkpoint saved, after_fit called.
/// A hook's state goes into every checkpoint; load_state gets exactly what save_state gave, before before_fit. A
/// resumed run continues from the checkpoint: no stage of an epoch is called twice.
class TrainingHook {
 public:
  virtual ~TrainingHook() = default;

  /// Called once, after construction, with what the hook's class described: clears needs_predictions or needs_crowd
  /// where this hook, with its options, does not look at them.
  virtual void refine(HookInfo&) const {}

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
  virtual void load_state(RunContext&, const std::string& bytes) {
    if (!bytes.empty()) throw std::invalid_argument("this hook has no state, but the checkpoint holds one");
  }
};

}  // namespace bdc::plugin
