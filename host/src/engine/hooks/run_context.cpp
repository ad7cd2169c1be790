#include "engine/hooks/run_context.h"

#include <torch/nn.h>

#include <stdexcept>

#include "data/frames.h"

namespace bdc::host {

plugin::RunContext make_run_context(const CrowdData& labels) {
  plugin::RunContext run;
  run.labels = &labels;
  run.has_truth = !labels.truth.empty();
  run.num_classes = static_cast<std::int64_t>(labels.classes.size());
  run.num_annotators = static_cast<std::int64_t>(labels.annotators.size());
  run.num_images = static_cast<std::int64_t>(labels.images.size());
  run.predict_training_set = [](const plugin::DetectionSink&) {
    throw std::logic_error("there is no detector to predict with");
  };
  run.say = [](const std::string&) {};
  run.map_targets = map_targets;
  run.unmap_predictions = unmap_predictions;
  return run;
}

}  // namespace bdc::host
