#pragma once

/// TorchVision's C++ operators that plugins use, as exported by its operator library. Link bdc::torchvision_ops.

#include <torch/types.h>

#include <cstdint>

namespace vision::ops {

/// Greedy non-maximum suppression. boxes: N x 4 xyxy; scores: N. Rows kept, best score first, int64. A box goes when
/// its IoU with a kept one is above `iou_threshold`. No gradient.
__attribute__((visibility("default"))) at::Tensor nms(const at::Tensor& boxes, const at::Tensor& scores,
                                                      double iou_threshold);

}  // namespace vision::ops
