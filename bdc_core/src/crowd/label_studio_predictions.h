#pragma once

#include <iosfwd>
#include <string>

namespace bdc {

/// Whether a file is a list of Label Studio's tasks.
[[nodiscard]] bool is_label_studio_file(const std::string& path);

/// The predictions of Label Studio's tasks as COCO JSON with images, categories and annotations with scores: tasks keep
/// their ids, classes are known by their names. The score is a box's own, or else that of its prediction. Throws
/// DataError when a box has none, when several models predicted, and where there are no predictions.
[[nodiscard]] std::string label_studio_predictions(std::istream& in, const std::string& name);

}  // namespace bdc
