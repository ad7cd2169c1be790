#pragma once

#include <torch/types.h>

namespace parts {

using torch::Tensor;

/// Whether TorchVision's operator ("nms") can compute where `tensor` is. Debian's library has kernels for the CPU
/// alone; the first time that one is missing, it is said on standard error, and the caller computes on the CPU.
[[nodiscard]] bool has_vision_kernel(const char* name, const Tensor& tensor);

/// vision::ops::nms on any device.
[[nodiscard]] Tensor nms_anywhere(const Tensor& boxes, const Tensor& scores, double iou_limit);

}  // namespace parts
