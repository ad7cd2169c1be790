#include "engine/mixed_precision.h"

#include <ATen/autocast_mode.h>
#include <torch/types.h>
#include <torch/version.h>

#include <algorithm>

#include "bdc/base/user_error.h"

namespace bdc::host {
namespace {

c10::ScalarType half_of(c10::DeviceType type) {
  return type == at::kCUDA ? at::kHalf : at::kBFloat16;
}

// LibTorch 2.4 gave autocast one switch per device type and put away the older pair.
#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 4)
bool is_switched(c10::DeviceType type) {
  return at::autocast::is_autocast_enabled(type);
}
void set_switch(c10::DeviceType type, bool on) {
  if (on) at::autocast::set_autocast_dtype(type, half_of(type));
  at::autocast::set_autocast_enabled(type, on);
}
#else
void require_autocast(c10::DeviceType type) {
  if (type == at::kCPU || type == at::kCUDA) return;
  throw UserError(ExitCode::device, "train.amp: half precision on '" + c10::DeviceTypeName(type, true) +
                                        "' needs LibTorch 2.4 or later, and this program was built with " TORCH_VERSION
                                        "\n  advice: train without --amp");
}
bool is_switched(c10::DeviceType type) {
  require_autocast(type);
  return type == at::kCUDA ? at::autocast::is_enabled() : at::autocast::is_cpu_enabled();
}
void set_switch(c10::DeviceType type, bool on) {
  if (type == at::kCUDA) {
    if (on) at::autocast::set_autocast_gpu_dtype(half_of(type));
    at::autocast::set_enabled(on);
  } else {
    if (on) at::autocast::set_autocast_cpu_dtype(half_of(type));
    at::autocast::set_cpu_enabled(on);
  }
}
#endif

}  // namespace

HalfPrecision::HalfPrecision(const torch::Device& device, bool is_on) : is_on_(is_on), type_(device.type()) {
  if (!is_on_) return;
  before_ = is_switched(type_);
  at::autocast::increment_nesting();
  set_switch(type_, true);
}

HalfPrecision::~HalfPrecision() {
  if (!is_on_) return;
  if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();  // of weights in half precision
  set_switch(type_, before_);
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
