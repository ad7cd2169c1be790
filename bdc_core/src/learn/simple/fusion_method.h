#pragma once

#include <functional>

#include "bdc/learn/simple/box_fusion.h"
#include "image_method.h"

namespace bdc {

/// Box fusion over the annotators of an image, each being one model. fuse gets the image's boxes, normalised, in the
/// order of annotators, and how many annotators saw the image.
using FuseImage = std::function<std::vector<FusedBox>(Span<const FusionBox> boxes, std::size_t annotators)>;

/// What a box is worth; its model is the annotator's number.
using BoxScore = std::function<double(const FusionBox&)>;

/// score: makes the boxes' scores, once for a crowd; without it all are 1.
[[nodiscard]] std::unique_ptr<Learner> make_fusion_method(FuseImage fuse,
                                                          std::function<BoxScore(const FitInput&)> score = {});

/// An image's annotations in the order of annotators, coordinates as drawn.
[[nodiscard]] std::vector<FusionBox> boxes_by_annotator(const CrowdData& crowd, std::size_t image);

}  // namespace bdc
