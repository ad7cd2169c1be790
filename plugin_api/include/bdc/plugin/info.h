#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bdc/plugin/options.h"

namespace bdc::plugin {

/// How a detector is trained when the user's config does not say.
struct OptimizerDefaults {
  std::string kind = "sgd";  ///< "sgd" or "adamw"
  double learning_rate = 0.01;
  double momentum = 0.9;  ///< sgd only
  double weight_decay = 0.0005;
  std::int64_t batch_size = 16;
};

/// Limits on what a detector gives back.
struct DecodeOptions {
  double min_score = 0.05;           ///< scores must be above it
  double nms_iou = 0.6;              ///< of two boxes that overlap more, the weaker is dropped
  std::int64_t max_per_image = 100;  ///< the best ones
};

/// What a detector says about itself before one is built. The name is not here: it is the plugin's name, given to
/// bdc_add_detector_plugin, and the host fills it in.
struct DetectorInfo {
  std::string name;                  ///< filled in by the host
  std::string version;               ///< the detector's own, e.g. "1.2.0"
  std::string description;           ///< one line
  std::int64_t input_size = 640;     ///< default edge of the square input, pixels; a multiple of stride
  std::int64_t min_input_size = 64;  ///< smallest edge that works; a multiple of stride
  std::int64_t stride = 32;          ///< input edges must be multiples of this
  OptimizerDefaults optimizer;
  DecodeOptions detections{0.01, 0.6, 100};  ///< limits of the published evaluation, unless the user's config sets them
  std::vector<OptionSpec> options;
  std::vector<std::string> capabilities;  ///< e.g. "roi_heads"; hooks may ask for them
};

/// What a detector is built from.
struct DetectorConfig {
  std::int64_t num_classes = 1;
  std::int64_t input_size = 640;
  Options options;
};

/// What a hook says about itself before one is built. The host prepares for a step what some hook asks for, and
/// nothing else.
struct HookInfo {
  std::string name;         ///< filled in by the host for hooks from plugins
  std::string description;  ///< one line
  int priority = 50;        ///< 0 runs first, 100 last; equal priorities run in the order of the config
  /// before_loss replaces all targets of the batch: the host then makes none of the labels, and hooks that run earlier
  /// see none. A run can have one such hook.
  bool replaces_targets = false;
  /// Labels without annotators are refused. The built-in shapes get a simulated crowd, unless the config gives one.
  bool needs_annotators = false;
  bool needs_predictions = false;               ///< LossContext::predictions: what the detector sees in every batch
  bool needs_crowd = false;                     ///< LossContext::crowd: every batch's annotations as tensors
  std::vector<std::string> needs_capabilities;  ///< the detector must have these; the host refuses others by name
  std::vector<OptionSpec> options;
};

/// What a hook is built from.
struct HookConfig {
  std::int64_t num_classes = 1;
  Options options;
};

}  // namespace bdc::plugin
