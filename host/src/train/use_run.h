#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "bdc/metrics/coco_eval.h"
#include "console/progress.h"
#include "registry/catalog.h"

/// What can be done with the weights of a run. Nothing of LibTorch shows here.
namespace bdc::host {

struct Validation {
  CocoEvalResult evaluation;
  std::vector<std::string> class_names;
  std::string weights;                  ///< where they came from
  std::int64_t images = 0, broken = 0;  ///< broken: of them, not judged because they cannot be read
  std::vector<std::string> warnings;    ///< what was left out before, such as images that are not there
};

/// Judges a run folder or weight file on the evaluation images of its config, changed by `sets` (--set). picture: PNG
/// of precision over recall, or empty. device: as train.device. Throws UserError: exit 3 when there are no such images
/// or no true boxes in them, exit 4 when the classes are others.
[[nodiscard]] Validation validate_run(const std::filesystem::path& run, const std::vector<std::string>& sets,
                                      const std::filesystem::path& picture, const std::string& device,
                                      const Catalog& catalog, Progress& progress);

struct PredictRequest {
  std::filesystem::path run;
  std::vector<std::string> images;  ///< files, folders, patterns
  double min_score = 0.25;
  std::string device = "auto";                         ///< as train.device
  std::string coco_file, yolo_folder, picture_folder;  ///< what to write; empty: not that
};

struct PredictSummary {
  std::size_t objects = 0, images = 0;
  std::size_t broken = 0;  ///< images that cannot be read; they are in none of the outputs
  double seconds = 0;
};

/// Finds objects in images and writes them down, each clipped to its image; what is left empty is dropped.
[[nodiscard]] PredictSummary predict_images(const PredictRequest& request, const Catalog& catalog, Progress& progress);

}  // namespace bdc::host
