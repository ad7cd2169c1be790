#pragma once

#include <vector>

#include "parts/boxes.h"

namespace parts {

/// How TorchVision's roi_align samples a region.
struct RoiSampling {
  double scale = 1;        ///< cells per pixel
  std::int64_t size = 7;   ///< bins per axis
  std::int64_t ratio = 2;  ///< sampling points per bin and axis; 0: as many as the bin has cells
  bool aligned = false;    ///< shifted by half a cell
};

/// The gradient of roi_align in its features, on the CPU: that of TorchVision's operator but for rounding. The operator
/// finds the cells and shares of every sampling point anew for every channel; here they are found once for a region, by
/// rows and by columns.
/// Every number is summed over the regions of its image in their order: the same bits for any number of threads.
/// pull: N x C x size x size; regions: N x 5 (image, x1, y1, x2, y2); shape: B, C, h, w of the features.
[[nodiscard]] Tensor roi_align_gradient(const Tensor& pull, const Tensor& regions,
                                        const std::vector<std::int64_t>& shape, const RoiSampling& sampling);

}  // namespace parts
