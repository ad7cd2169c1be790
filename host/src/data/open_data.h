#pragma once

#include <memory>
#include <string>
#include <vector>

#include "config/json_file.h"
#include "data/augment.h"
#include "data/image_file.h"
#include "shapes/crowd_shapes.h"
#include "shapes/dataset.h"

namespace bdc::host {

/// The data sets of a run.
struct OpenedData {
  std::shared_ptr<const Dataset> train;
  std::shared_ptr<const Dataset> test;        ///< for evaluation; has no images when the config names none
  bool built_in = false;                      ///< the shapes, because no labels were named
  std::string description;                    ///< of the training data: "400 built-in images of shapes"
  std::vector<std::string> warnings;          ///< for the console: what was left out
  std::string unmeasured;                     ///< why AP cannot be measured; empty: it can
  std::vector<SimulatedAnnotator> simulated;  ///< true quality, one per annotator; empty unless the crowd is simulated
};

/// Opens what the keys data.* of a resolved config say. The built-in shapes have no annotators unless asked for; when
/// a built-in hook needs some, a mixed crowd of ten labels them. Labels and images are checked as ImageFolderData says.
/// `classes`: names of a detector's classes; those of the label files are numbered as they are, by name, and may be
/// fewer. Empty: as the training labels have them.
/// Throws UserError (exit 3) when keys do not fit together, DataError when files are wrong.
[[nodiscard]] OpenedData open_data(const Json& config, const std::vector<std::string>& classes = {});

/// Whether there is a true box that detections can be judged by.
[[nodiscard]] bool has_true_boxes(const CrowdData& labels);

/// A resolved config whose relative paths (data.*, train.weights) are made absolute, so that a run can be used from any
/// folder. They are relative to the folder the program was started in.
[[nodiscard]] Json with_absolute_paths(Json config);

/// data.max_megapixels of a resolved config.
[[nodiscard]] ImageLimits image_limits(const Json& config);

/// train.augment.* of a resolved config.
[[nodiscard]] AugmentSettings augment_settings(const Json& config);

/// data.workers of a resolved config, at most the number of cores.
[[nodiscard]] int loader_workers(const Json& config);

}  // namespace bdc::host
