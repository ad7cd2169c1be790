#pragma once

#include <c10/core/Device.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace torch {
class Library;
}

/// A device for tests: LibTorch's PrivateUse1, made of the host's memory and the CPU's kernels, that is as far away as
/// a GPU. Linking it is enough; tensors go there with `.to(far_device::device())`.
/// - A call that mixes its tensors with the CPU's is refused (numbers, tensors without dimensions, are not).
/// - Its pointers are no addresses: code that reads a tensor's memory without asking for a copy ends with a signal.
/// - TorchVision's operators have no kernel for it, but while a VisionKernels lives.
/// - Draws come from the CPU's generator, so a network and a seed give the same numbers on both.
namespace far_device {

[[nodiscard]] c10::Device device();

/// Something that a GPU's queue is emptied for, or that goes over the bus.
struct Transfer {
  enum class Kind {
    up,     ///< a tensor from the host
    down,   ///< a tensor to the host
    number  ///< a single number or a size that the host waits for: item(), nonzero()
  };
  Kind kind;
  std::string what;  ///< operator
  std::int64_t bytes = 0;
};

/// Gives the device kernels for TorchVision's operators, as a TorchVision built for a GPU has.
class VisionKernels {
 public:
  VisionKernels();
  ~VisionKernels();
  VisionKernels(const VisionKernels&) = delete;
  VisionKernels& operator=(const VisionKernels&) = delete;

 private:
  std::unique_ptr<torch::Library> library_;
};

/// Records all transfers of all threads while it lives. One at a time.
class Watch {
 public:
  Watch();
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  /// What has happened since the last call.
  [[nodiscard]] std::vector<Transfer> take();
};

[[nodiscard]] std::int64_t count(const std::vector<Transfer>& all, Transfer::Kind kind);

/// One line for each operator, for messages.
[[nodiscard]] std::string text(const std::vector<Transfer>& all);

}  // namespace far_device
