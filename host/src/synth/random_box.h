#pragma once

#include "bdc/base/random.h"
#include "bdc/crowd/box.h"

namespace bdc::host {

/// Corners on whole pixels.
[[nodiscard]] Box whole_pixels(const Box& box);

/// A box anywhere in an image of at least 2 x 2 pixels, evenly: edges of 8 to 60 % of the image's, whole pixels.
[[nodiscard]] Box random_box(double width, double height, Random& random);

}  // namespace bdc::host
