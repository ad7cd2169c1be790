#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "bdc/metrics/coco_eval.h"
#include "engine_api/run_config.h"
#include "plugins/catalog.h"
#include "show/progress.h"

/// What can be done with the weights of a run.
namespace bdc::host {

struct ValidateRequest {
  std::filesystem::path picture;  ///< PNG of precision over recall, or empty
  std::string device = "auto";    ///< as train.device
};

struct Validation {
  CocoEvalResult evaluation;
  std::vector<std::string> class_names;
  std::string weights;                  ///< where they came from
  std::int64_t images = 0, broken = 0;  ///< broken: of them, not judged because they cannot be read
  std::vector<std::string> warnings;    ///< what was left out before, such as images that are not there
};

struct PredictRequest {
  std::vector<std::string> images;  ///< files, folders, patterns
  double min_score = 0.25;
  bool for_consensus = false;   ///< one box per object with its full class vector, instead of detections
  std::string device = "auto";  ///< as train.device
  std::string coco_file, yolo_folder, picture_folder;  ///< what to write; empty: not that
  bool force = false;  ///< files that an earlier prediction has not written may be replaced
};

struct PredictSummary {
  std::size_t objects = 0, images = 0;
  std::size_t broken = 0;  ///< images that cannot be read; they are in none of the outputs
  double seconds = 0;
};

/// The weights of a run folder or of one of its weight files. The caller reads config(), changes it if need be, and
/// hands it back as settings.
class TrainedRun {
 public:
  virtual ~TrainedRun() = default;

  /// The config that the run was started with, as it was written.
  [[nodiscard]] virtual const std::string& config() const = 0;

  /// Judges the detector on the evaluation images of `config`. Throws UserError: exit 3 when there are no such images
  /// or no true boxes in them, exit 4 when the classes are others.
  [[nodiscard]] virtual Validation validate(const RunConfig& config, const ValidateRequest& request,
                                            const Catalog& catalog, Progress& progress) = 0;

  /// Finds objects in images and writes them down, each clipped to its image; what is left empty is dropped.
  [[nodiscard]] virtual PredictSummary predict(const RunConfig& config, const PredictRequest& request,
                                               const Catalog& catalog, Progress& progress) = 0;
};

}  // namespace bdc::host
