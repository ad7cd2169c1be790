#pragma once

#include "bdc/crowd/box.h"
#include "bdc/crowd/crowd_data.h"

namespace bdc::host {

/// Where the annotators of image i differ most: what the boxes of one place cover, a place being boxes that lie near
/// each other. Each box counts 1 - its mean best IoU with the other annotators who looked (0 for those who drew nothing
/// there), and the place with the largest sum wins. Not valid when the image has no boxes.
[[nodiscard]] Box disputed_place(const CrowdData& crowd, std::size_t i);

/// The smallest box round two; that which is valid when one is not.
[[nodiscard]] Box joined(const Box& a, const Box& b);

}  // namespace bdc::host
