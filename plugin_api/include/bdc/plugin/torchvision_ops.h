#pragma once

/// TorchVision's C++ operators that plugins use, as exported by its operator library. Link bdc::torchvision_ops.

#include <torch/types.h>

#include <cstdint>

namespace vision::ops {

/// Greedy non-maximum suppression. boxes: N x 4 xyxy; scores: N. Rows kept, best score first, int64. A box is dropped
/// when its IoU with a kept one is above `iou_threshold`. No gradient.
__attribute__((visibility("default"))) at::Tensor nms(const at::Tensor& boxes, const at::Tensor& scores,
                                                      double iou_threshold);

/// Bilinear pooling of regions. input: B x C x h x w; rois: N x 5 (image, x1, y1, x2, y2) -> N x C x pooled_height x
/// pooled_width. spatial_scale: cells per pixel; sampling_ratio 0: as many points as a bin has cells; aligned: shifted
/// by half a cell. Differentiable in the input.
__attribute__((visibility("default"))) at::Tensor roi_align(const at::Tensor& input, const at::Tensor& rois,
                                                            double spatial_scale, std::int64_t pooled_height,
                                                            std::int64_t pooled_width, std::int64_t sampling_ratio,
                                                            bool aligned);

namespace detail {

/// Gradient of roi_align with respect to its input, B x C x h x w, from that with respect to its output.
__attribute__((visibility("default"))) at::Tensor _roi_align_backward(const at::Tensor& grad, const at::Tensor& rois,
                                                                      double spatial_scale, std::int64_t pooled_height,
                                                                      std::int64_t pooled_width,
                                                                      std::int64_t batch_size, std::int64_t channels,
                                                                      std::int64_t height, std::int64_t width,
                                                                      std::int64_t sampling_ratio, bool aligned);

}  // namespace detail

}  // namespace vision::ops
