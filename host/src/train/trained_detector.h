#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "config/json_file.h"
#include "registry/catalog.h"
#include "train/detector_handle.h"

namespace bdc::host {

/// A detector with the weights of a run.
struct TrainedDetector {
  std::unique_ptr<LoadedPlugin> plugin;
  std::unique_ptr<DetectorHandle> detector;
  std::vector<std::string> classes;
  Json config;       ///< the run's own
  std::string from;  ///< "runs/x/best.safetensors, epoch 12"
};

/// `what`: a run folder (its best weights, or those of its last checkpoint when it was never evaluated) or a file
/// of weights that a run wrote, a checkpoint (its running mean of the weights, where it has one) among them. Ready for
/// prediction. Throws UserError: exit 4 when nothing usable is there, 5 to 7 when the plugin cannot be had. `device`:
/// as train.device.
[[nodiscard]] TrainedDetector open_trained(const std::filesystem::path& what, const Catalog& catalog,
                                           const std::string& device);

}  // namespace bdc::host
