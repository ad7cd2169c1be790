#include "engine/mixed_precision.h"

#include <ATen/autocast_mode.h>
#include <torch/types.h>
#include <torch/version.h>

#include <algorithm>

namespace bdc::host {
namespace {

// LibTorch 2.4 gave autocast one switch per device type and put away the older pair.
#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 4)
bool switched(bool is_cuda) {
  return at::autocast::is_autocast_enabled(is_cuda ? at::kCUDA : at::kCPU);
}
void set_switch(bool is_cuda, bool on) {
  if (on) at::autocast::set_autocast_dtype(is_cuda ? at::kCUDA : at::kCPU, is_cuda ? at::kHalf : at::kBFloat16);
  at::autocast::set_autocast_enabled(is_cuda ? at::kCUDA : at::kCPU, on);
}
#else
bool switched(bool is_cuda) {
  return is_cuda ? at::autocast::is_enabled() : at::autocast::is_cpu_enabled();
}
void set_switch(bool is_cuda, bool on) {
  if (is_cuda) {
    if (on) at::autocast::set_autocast_gpu_dtype(at::kHalf);
    at::autocast::set_enabled(on);
  } else {
    if (on) at::autocast::set_autocast_cpu_dtype(at::kBFloat16);
    at::autocast::set_cpu_enabled(on);
  }
}
#endif

}  // namespace

HalfPrecision::HalfPrecision(const torch::Device& device, bool is_on) : is_on_(is_on), is_cuda_(device.is_cuda()) {
  if (!is_on_) return;
  before_ = switched(is_cuda_);
  at::autocast::increment_nesting();
  set_switch(is_cuda_, true);
}

HalfPrecision::~HalfPrecision() {
  if (!is_on_) return;
  if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();  // of weights in half precision
  set_switch(is_cuda_, before_);
}

void LossScale::after_step(bool is_finite) {
  if (!is_on_) return;
  if (!is_finite) {
    factor_ = std::max(1.0, factor_ / 2);
    good_steps_ = 0;
  } else if (++good_steps_ == kPatience) {
    factor_ = std::min(factor_ * 2, 16777216.0);
    good_steps_ = 0;
  }
}

void LossScale::restore(double factor, std::int64_t good_steps) {
  if (!is_on_) return;
  factor_ = factor;
  good_steps_ = good_steps;
}

}  // namespace bdc::host
