#pragma once

#include <cstdint>
#include <vector>

#include "bdc/crowd/crowd_data.h"
#include "bdc/crowd/grouping.h"
#include "crowd/image_scale.h"

namespace bdc {

/// The annotations of an image in groups that show the same object (group_by_best_overlap); members count from the
/// image's first annotation. boxes: filled with the annotations' boxes, scaled by the image's size.
inline Groups groups_of_image(const CrowdData& crowd, std::size_t image, double overlap, std::vector<Box>& boxes) {
  const ImageScale scale = image_scale(crowd, image);
  std::vector<std::int32_t> annotators;
  boxes.clear();
  for (std::size_t a = crowd.annotation_begin[image]; a < crowd.annotation_begin[image + 1]; ++a) {
    boxes.push_back(normalised(crowd.annotations[a].box, scale));
    annotators.push_back(crowd.annotations[a].annotator);
  }
  Groups groups;
  group_by_best_overlap(boxes, annotators, overlap, groups);
  return groups;
}

}  // namespace bdc
