#include "parts/vision_kernels.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <bdc/plugin/torchvision_ops.h>
#include <c10/core/TensorOptions.h>
#include <torch/utils.h>

#include <iostream>
#include <mutex>
#include <set>
#include <string>

namespace parts {

bool has_vision_kernel(const char* name, const Tensor& tensor) {
  if (tensor.is_cpu()) return true;
  const auto op = c10::Dispatcher::singleton().findSchema({std::string("torchvision::") + name, ""});
  const c10::DispatchKey key = c10::computeDispatchKey(c10::nullopt, tensor.layout(), tensor.device());
  if (op && op->hasKernelForDispatchKey(key)) return true;
  static std::mutex mutex;
  static std::set<std::string> said;
  const std::lock_guard<std::mutex> lock(mutex);
  if (said.insert(name).second) {
    std::cerr << std::string("note: TorchVision's ") + name + " has no kernel for " + tensor.device().str() +
                     " here and runs on the CPU\n"
              << std::flush;
  }
  return false;
}

Tensor nms_anywhere(const Tensor& boxes, const Tensor& scores, double iou_limit) {
  if (has_vision_kernel("nms", boxes)) return vision::ops::nms(boxes, scores, iou_limit);
  return vision::ops::nms(boxes.cpu(), scores.cpu(), iou_limit).to(boxes.device());
}

}  // namespace parts
