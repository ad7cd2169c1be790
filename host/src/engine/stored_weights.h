#pragma once

#include <torch/types.h>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace bdc::host {

/// The weights of a run with all that is needed to build their detector.
struct StoredWeights {
  std::map<std::string, torch::Tensor> tensors;
  std::string config;                ///< JSON, as the run was started with
  std::vector<std::string> classes;  ///< names, in the detector's order
  std::string from;                  ///< the file and the step or epoch, for people
};

/// From a run folder (the best weights, else the last) or a weight file of a run: best, last or previous.safetensors.
/// Throws UserError (exit 4) for anything else.
[[nodiscard]] StoredWeights read_stored_weights(const std::filesystem::path& what);

}  // namespace bdc::host
