#include "engine/device.h"

#include <ATen/Context.h>
#include <torch/cuda.h>
#include <torch/types.h>

#include <algorithm>

#include "bdc/base/user_error.h"

namespace bdc::host {
namespace {

bool is_number(const std::string& text) {
  return !text.empty() && text.size() < 4 && text.find_first_not_of("0123456789") == std::string::npos;
}

}  // namespace

torch::Device device_of(const std::string& text, int local_rank) {
  if (text == "cpu") return torch::kCPU;
  if (text == "auto") {
    if (!torch::cuda::is_available()) return torch::kCPU;
    const int devices = std::max(1, static_cast<int>(torch::cuda::device_count()));
    return {torch::kCUDA, static_cast<c10::DeviceIndex>(local_rank % devices)};
  }
  const bool is_numbered = text.rfind("cuda:", 0) == 0 && is_number(text.substr(5));
  if (text != "cuda" && !is_numbered) {
    throw UserError(ExitCode::config, "train.device: expected auto, cpu, cuda or cuda:N, found '" + text + "'");
  }
  const int number = is_numbered ? std::stoi(text.substr(5)) : local_rank;
  const int count = torch::cuda::is_available() ? static_cast<int>(torch::cuda::device_count()) : 0;
  if (number >= count) {
    throw UserError(ExitCode::device,
                    "train.device: '" + text + "' is not available; " +
                        (count > 0       ? "this machine has cuda:0 to cuda:" + std::to_string(count - 1)
                         : at::hasCUDA() ? std::string("no CUDA device was found")
                                         : std::string("this program was built with a LibTorch without CUDA")) +
                        "\n  advice: --device cpu");
  }
  return {torch::kCUDA, static_cast<c10::DeviceIndex>(number)};
}

}  // namespace bdc::host
