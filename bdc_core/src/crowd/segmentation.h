#pragma once

#include <optional>

#include "bdc/base/json_stream.h"
#include "bdc/crowd/box.h"

namespace bdc {

/// Reads a COCO `segmentation`: polygons [[x, y, x, y, ...], ...], or a run-length encoded mask {"size": [h, w],
/// "counts":
/// [...] or "..."}, and gives the upright box around it; a mask's pixel covers one unit. Nothing when it is empty or
/// cannot be understood.
[[nodiscard]] std::optional<Box> read_segmentation_box(JsonReader& json);

}  // namespace bdc
