#pragma once

#include <memory>
#include <string>
#include <vector>

#include "data/augment.h"
#include "data/crowd_shapes.h"
#include "data/dataset.h"
#include "data/image_file.h"
#include "engine_api/run_config.h"

namespace bdc::host {

/// The data sets of a run.
struct OpenedData {
  std::shared_ptr<const Dataset> train;
  std::shared_ptr<const Dataset> test;        ///< for evaluation; has no images when the config names none
  bool built_in = false;                      ///< the shapes, because no labels were named
  std::string description;                    ///< of the training data: "400 built-in images of shapes"
  std::vector<std::string> notes;             ///< for the console: how the labels were read
  std::vector<std::string> warnings;          ///< for the console: what was left out
  std::string unmeasured;                     ///< why AP cannot be measured; empty: it can
  std::vector<SimulatedAnnotator> simulated;  ///< true quality, one per annotator; empty unless the crowd is simulated
};

/// Opens what data.* says. The built-in shapes have no annotators unless asked for. Labels and images are checked as
/// ImageFolderData says.
/// `classes`: names of a detector's classes; those of the label files are numbered as they are, by name, and may be
/// fewer. Empty: as the training labels have them.
/// Throws UserError (exit 3) when keys do not fit together, DataError when files are wrong.
[[nodiscard]] OpenedData open_data(const RunConfig& config, const std::vector<std::string>& classes = {});

/// Whether there is a true box that detections can be judged by.
[[nodiscard]] bool has_true_boxes(const CrowdData& labels);

/// data.max_megapixels.
[[nodiscard]] ImageLimits image_limits(const DataConfig& config);

/// data.workers, at most the number of cores.
[[nodiscard]] int loader_workers(const DataConfig& config);

}  // namespace bdc::host
