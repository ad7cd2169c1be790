#pragma once

#include <array>
#include <vector>

#include "bdc/crowd/crowd_data.h"
#include "bdc/crowd/targets.h"
#include "bdc/metrics/coco_eval.h"

namespace bdc {

/// Position of each image when sorted by id (integers before strings, integers by value, strings by bytes): the order
/// in which COCO evaluation breaks ties between equal scores.
[[nodiscard]] std::vector<std::int32_t> rank_by_id(const std::vector<ImageRecord>& images);

/// Truth of a crowd data set in the evaluation's form. evaluated: one flag per image, or empty for those the
/// truth covers (CrowdData::truth_covers); truth of other images is left out. xywh: ReadReport::truth_xywh, the widths
/// and heights with the file's own bits; from corners they would cost a rounding, which matters at an exact threshold.
[[nodiscard]] std::vector<CocoTruth> coco_truth(const CrowdData& crowd, const std::vector<char>& evaluated = {},
                                                const std::vector<std::array<double, 4>>* xywh = nullptr);

/// Targets as detections: the class is the most probable one (ties: the smaller index), the score is Targets::score.
[[nodiscard]] std::vector<CocoDetection> coco_detections(const Targets& targets, const CrowdData& crowd,
                                                         const std::vector<char>& evaluated = {});

/// Aggregation AP: the consensus judged against the truth as if it were a detector's output. evaluated as above.
/// Throws DataError when there is no truth or when targets and crowd differ in images or classes.
[[nodiscard]] CocoEvalResult evaluate_targets(const Targets& targets, const CrowdData& crowd,
                                              const CocoEvalOptions& options = {},
                                              const std::vector<char>& evaluated = {});

}  // namespace bdc
