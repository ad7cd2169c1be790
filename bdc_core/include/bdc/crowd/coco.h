#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <string>
#include <vector>

#include "bdc/crowd/crowd_data.h"
#include "bdc/crowd/crowd_io.h"
#include "bdc/crowd/predictions.h"
#include "bdc/crowd/problems.h"
#include "bdc/crowd/targets.h"

/// True boxes, detector output and consensus in COCO's JSON. Crowd annotations: crowd_io.h.
/// All readers throw DataError with file, line, JSON path, what was expected and what was found.
namespace bdc {

/// Images, classes and truth of a file (COCO, or any format of crowd_io.h); no annotators. report (may be null)
/// receives where records stood and ReadReport::truth_xywh.
[[nodiscard]] CrowdData read_truth(const std::string& path, ReadReport* report = nullptr);

/// Gives `crowd` the true boxes of a file (crowd.truth, has_truth, truth_covers). Images are matched by id, or, when no
/// id is common, by file name; classes by id and name, or by name alone. Images that crowd does not have are left out.
/// Throws DataError when no image or a class with boxes has no partner. Returns the number of images matched.
std::size_t attach_truth(CrowdData& crowd, const std::string& path);

/// One detection, with indices into a CrowdData's images and classes.
struct CocoResult {
  std::array<double, 4> xywh{};  ///< left, top, width, height in pixels, as the file states them
  double score = 0;              ///< any finite number
  std::int32_t image = 0;
  std::int32_t label = 0;
  const std::vector<double>* class_probs = nullptr;  ///< J numbers in the order of the data's classes; null: not given
};

struct ResultOptions {
  bool allow_empty_boxes = false;    ///< width or height 0 (evaluation accepts them)
  bool skip_unknown_images = false;  ///< leave out results of images that the data does not have
  std::size_t* skipped = nullptr;    ///< if not null, is raised by one for each of these
};

/// Calls use for every result of a file, in file order, without keeping them. The file is a COCO results list
/// [{image_id, category_id, bbox, score, class_probs?}], or a COCO object whose annotations have a score (what
/// write_targets writes), or Label Studio's tasks, whose predictions are taken. Where such an object lists its images,
/// file names decide over ids that mean something else here; where it lists its categories, their names alone decide,
/// and a result of a class that the data does not have is an error. Without names, and in a list, ids decide.
/// class_probs follow the file's categories where it has them, otherwise the data's classes; each must be finite, not
/// negative, and together above 0.
void scan_coco_results(const std::string& path, const CrowdData& data, const ResultOptions& options,
                       const std::function<void(const CocoResult&)>& use);
void scan_coco_results(std::istream& in, const std::string& name, const CrowdData& data, const ResultOptions& options,
                       const std::function<void(const CocoResult&)>& use);

/// Detector output for aggregation, from a COCO results file, from the predictions in Label Studio's tasks, or from
/// those of a simulated crowd ("sim"). Scores must be in [0, 1]. Class probabilities that do not sum to 1 are divided
/// by their sum. A result of class c and score s without class_probs gets s * onehot(c) + (1 - s) * uniform. Simulated
/// predictions have no score: theirs is the largest class probability.
[[nodiscard]] Predictions read_predictions(const std::string& path, const CrowdData& data,
                                           const ResultOptions& options = {});
[[nodiscard]] Predictions parse_predictions(std::istream& in, const std::string& name, const CrowdData& data,
                                            const ResultOptions& options = {});

/// COCO results with class_probs; category_id is the most probable class. Reads back to the same Predictions.
void write_predictions(const Predictions& predictions, const CrowdData& data, const std::string& path);

/// COCO JSON: images, categories and per target an annotation with category_id (the most probable class), bbox, score,
/// class_probs (in the order of categories), weight and, where the method has them, existence and box_std.
void write_targets(const Targets& targets, const CrowdData& data, const std::string& path);

/// Reads what write_targets wrote. A plain COCO annotation without score, weight or class_probs is a certain one:
/// score 1, weight 1, one-hot. existence and box_std are filled when every annotation has them.
[[nodiscard]] Targets read_targets(const std::string& path, const CrowdData& data);
[[nodiscard]] Targets parse_targets(std::istream& in, const std::string& name, const CrowdData& data);

/// True boxes as plain COCO; images that the truth does not cover are left out.
void write_truth(const CrowdData& data, const std::string& path);

/// A simulated crowd (crowd with truth, and the simulated detector's output) in one file.
struct SimulatedCrowd {
  CrowdData crowd;
  Predictions predictions;
};
[[nodiscard]] SimulatedCrowd read_simulated_crowd(const std::string& path);

}  // namespace bdc
