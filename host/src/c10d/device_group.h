#pragma once

#include <torch/types.h>

#include <memory>
#include <torch/csrc/distributed/c10d/Store.hpp>
#include <vector>

#include "launch/launch.h"
#include "ranks/communicator.h"

namespace bdc::host {

/// A group of ranks each of which has a CUDA device of its own.
class DeviceGroup {
 public:
  virtual ~DeviceGroup() = default;
  /// Begins to replace every number of a tensor on this rank's device by its sum over the ranks. What goes wrong is a
  /// std::exception, here or in wait().
  [[nodiscard]] virtual std::unique_ptr<PendingSum> begin_sum(const torch::Tensor& numbers) = 0;
};

/// Whether this build of LibTorch can open such a group: it has NCCL.
[[nodiscard]] bool has_device_groups();

/// Opens one through NCCL; all ranks do it together. device: this rank's.
[[nodiscard]] std::unique_ptr<DeviceGroup> open_device_group(const c10::intrusive_ptr<c10d::Store>& store,
                                                             const Launch& launch, double timeout, int device);

}  // namespace bdc::host
