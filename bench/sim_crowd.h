#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bdc/crowd/crowd_data.h"
#include "bdc/crowd/predictions.h"
#include "synth/crowd_spec.h"

namespace bdc {

struct SimulatedCrowdOptions {
  int images = 1000;
  int classes = 20;
  std::vector<host::GroupSpec> groups;
  std::uint64_t seed = 1;
  bool with_predictions = true;
  bool with_truth = true;
};

/// A crowd preset of `bdc-host synth` with the number of classes of its data. Throws UserError for another name.
[[nodiscard]] SimulatedCrowdOptions simulated_preset(const std::string& name);

/// Random scenes, the annotators of `bdc-host synth` (host/src/synth has the rules by which they err), and a detector.
/// An image that nobody would see is given to one annotator.
struct BenchCrowd {
  CrowdData crowd;  ///< with assignments; boxes in whole pixels
  Predictions predictions;
};
[[nodiscard]] BenchCrowd simulate_crowd(const SimulatedCrowdOptions& options);

}  // namespace bdc
