#pragma once

#include <opencv2/core.hpp>
#include <vector>

#include "show/chart.h"

namespace bdc::host {

/// Line charts side by side, each with axes, round ticks, a grid and, to the right of it, a legend. RGB.
[[nodiscard]] cv::Mat draw_plots(const std::vector<Plot>& plots);

}  // namespace bdc::host
