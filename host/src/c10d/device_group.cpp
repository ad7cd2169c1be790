#include "c10d/device_group.h"

#include <stdexcept>

#ifdef USE_C10D_NCCL
#include <cstdlib>
#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>
#include <utility>

#include "bdc/base/now_seconds.h"
#endif

namespace bdc::host {

#ifdef USE_C10D_NCCL
namespace {

class Sum : public PendingSum {
 public:
  explicit Sum(c10::intrusive_ptr<c10d::Work> work) : work_(std::move(work)) {}
  void wait() override {
    work_->wait();
    done_at_ = now_seconds();
  }
  /// Of what a device does there is no other sign than the end of the wait.
  [[nodiscard]] double done_at() const override { return done_at_; }

 private:
  c10::intrusive_ptr<c10d::Work> work_;
  double done_at_ = 0;
};

// From LibTorch 1.13 to 2.x its base class changes from ProcessGroup to Backend: neither is named.
class Nccl : public DeviceGroup {
 public:
  Nccl(const c10::intrusive_ptr<c10d::Store>& store, const Launch& launch, double timeout, int device) {
    // wait() is to end after the timeout with an exception, by the names of LibTorch 1.13 and of 2.x.
    ::setenv("NCCL_BLOCKING_WAIT", "1", 0);
    ::setenv("TORCH_NCCL_BLOCKING_WAIT", "1", 0);
    const auto options = c10d::ProcessGroupNCCL::Options::create();
    options->timeout = std::chrono::milliseconds(static_cast<std::int64_t>(timeout * 1000));
    group_ = c10::make_intrusive<c10d::ProcessGroupNCCL>(store, launch.rank, launch.size, options);
    // The first sum opens the connections: let it fail here if it must.
    const auto index = static_cast<torch::DeviceIndex>(device);
    begin_sum(torch::ones({1}, torch::TensorOptions().device(torch::kCUDA, index)))->wait();
  }
  std::unique_ptr<PendingSum> begin_sum(const torch::Tensor& numbers) override {
    std::vector<torch::Tensor> tensors{numbers};
    return std::make_unique<Sum>(group_->allreduce(tensors));
  }

 private:
  c10::intrusive_ptr<c10d::ProcessGroupNCCL> group_;
};

}  // namespace

bool has_device_groups() {
  return true;
}

std::unique_ptr<DeviceGroup> open_device_group(const c10::intrusive_ptr<c10d::Store>& store, const Launch& launch,
                                               double timeout, int device) {
  return std::make_unique<Nccl>(store, launch, timeout, device);
}
#else
bool has_device_groups() {
  return false;
}

std::unique_ptr<DeviceGroup> open_device_group(const c10::intrusive_ptr<c10d::Store>& /*store*/,
                                               const Launch& /*launch*/, double /*timeout*/, int /*device*/) {
  throw std::logic_error("this LibTorch has no NCCL");
}
#endif

}  // namespace bdc::host
