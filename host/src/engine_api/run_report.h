#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "engine_api/train_result.h"
#include "synth/crowd_spec.h"

namespace bdc::host {

/// What became of a run.
struct RunReport {
  std::filesystem::path folder;
  TrainResult fit;
  std::vector<std::string> class_names;
  std::vector<SimulatedAnnotator> simulated;  ///< true quality of the annotators, where it is known
  std::size_t unjudged_images = 0;            ///< held out, but without true boxes, so that AP was not measured
  double seconds = 0;
};

/// What a run would do, without doing it.
struct RunPlan {
  struct Group {  ///< parameters with the same optimiser settings
    std::string name;
    std::size_t tensors = 0;
    std::int64_t weights = 0;
    double learning_rate = 0;  ///< before warm-up and schedule
    double weight_decay = 0;
  };
  std::string plugin, data;
  std::vector<std::string> notes;  ///< how the labels were read
  std::vector<std::string> warnings, hooks, class_names;
  std::size_t train_images = 0, test_images = 0;
  std::int64_t weights = 0;  ///< all of the detector's
  std::vector<Group> groups;
};

}  // namespace bdc::host
