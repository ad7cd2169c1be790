#pragma once

#include <bdc/plugin/hook.h>

#include <functional>
#include <memory>
#include <string>

#include "bdc/crowd/crowd_data.h"
#include "bdc/learn/online_bdc.h"

namespace bdc::host {

/// What a built-in hook may use of the run, beyond what every hook sees. Must outlive the hook.
struct HookServices {
  const CrowdData* labels = nullptr;  ///< of the training set; truth in it is for reports alone
  int threads = 0;
  /// Calls sink(image, detections in the original frame) for every training image, in order, without augmentation and
  /// without changing the detector.
  std::function<void(const std::function<void(std::size_t, const DetectedBoxes&)>& sink)> predict_training_set;
  std::function<void(const std::string&)> warn;  ///< shows a line on the console; may be empty
};

/// `name` must be one of builtin_hooks() and `options` checked against its schema. Throws DataError when the labels
/// have no annotators.
[[nodiscard]] std::unique_ptr<plugin::TrainingHook> make_builtin_hook(const std::string& name,
                                                                      const plugin::Options& options,
                                                                      const HookServices& services);

/// Whether the hook, with these options, looks at the predictions of every step.
[[nodiscard]] bool builtin_needs_predictions(const std::string& name, const plugin::Options& options);

}  // namespace bdc::host
