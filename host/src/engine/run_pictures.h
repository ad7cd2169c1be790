#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "bdc/metrics/coco_eval.h"
#include "data/batch.h"
#include "files/json_file.h"

/// The pictures a run leaves in its folder.
namespace bdc::host {

/// Up to 16 images of a batch as the detector gets them, with the targets it is trained on: class, probability and
/// weight; targets of little weight thin.
void write_batch_picture(const std::filesystem::path& path, const Batch& batch,
                         const std::vector<std::string>& class_names);

/// Loss and its parts (the title says so when they do not add up to it), AP on the test images, and AP of the labels
/// where known, over the epochs of `records` (MetricsLog).
void write_learning_curve(const std::filesystem::path& path, const std::vector<Json>& records);

/// Precision over recall at IoU 0.5: the mean and up to ten classes. Nothing when the evaluation kept no curves.
void write_precision_recall(const std::filesystem::path& path, const CocoEvalResult& evaluation,
                            const std::vector<std::string>& class_names);

}  // namespace bdc::host
