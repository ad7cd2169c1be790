#pragma once

#include <algorithm>
#include <cstddef>

#include "bdc/crowd/crowd_data.h"
#include "bdc/crowd/geometry.h"

namespace bdc {

/// The size of an image; where the file did not say, the largest coordinates drawn in it (1 when nothing was drawn).
inline ImageScale image_scale(const CrowdData& crowd, std::size_t image) {
  ImageScale scale{static_cast<double>(crowd.images[image].width), static_cast<double>(crowd.images[image].height)};
  if (scale.width > 0 && scale.height > 0) return scale;
  scale = {0, 0};
  for (std::size_t a = crowd.annotation_begin[image]; a < crowd.annotation_begin[image + 1]; ++a) {
    scale.width = std::max(scale.width, crowd.annotations[a].box.x2);
    scale.height = std::max(scale.height, crowd.annotations[a].box.y2);
  }
  if (!(scale.width > 0)) scale.width = 1;
  if (!(scale.height > 0)) scale.height = 1;
  return scale;
}

}  // namespace bdc
