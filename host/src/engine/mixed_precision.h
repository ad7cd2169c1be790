#pragma once

#include <c10/core/Device.h>

#include <cstdint>

namespace bdc::host {

/// While it lives, LibTorch runs this thread's convolutions and matrix products on `device` in half precision (CUDA:
/// float16, others: bfloat16) and keeps the rest in float32. Puts back what was set before. Does nothing when `is_on`
/// is false. Throws UserError (exit 8) for a device that this LibTorch has no autocast for.
class HalfPrecision {
 public:
  HalfPrecision(const c10::Device& device, bool is_on);
  ~HalfPrecision();
  HalfPrecision(const HalfPrecision&) = delete;
  HalfPrecision& operator=(const HalfPrecision&) = delete;

 private:
  bool is_on_, before_ = false;
  c10::DeviceType type_;
};

/// A factor on the loss that keeps float16 gradients from vanishing. It doubles after kPatience good steps in a row and
/// halves when a gradient overflows; that step is left out.
class LossScale {
 public:
  static constexpr std::int64_t kPatience = 2000;

  /// Off: the factor is 1 and stays so.
  explicit LossScale(bool is_on) : is_on_(is_on), factor_(is_on ? 65536.0 : 1.0) {}

  [[nodiscard]] bool is_on() const { return is_on_; }
  [[nodiscard]] double factor() const { return factor_; }
  [[nodiscard]] std::int64_t good_steps() const { return good_steps_; }
  /// No smaller factor is left: an overflow is now an error of the loss itself.
  [[nodiscard]] bool is_exhausted() const { return factor_ <= 1.0; }
  void after_step(bool is_finite);
  void restore(double factor, std::int64_t good_steps);

 private:
  bool is_on_;
  double factor_;
  std::int64_t good_steps_ = 0;
};

}  // namespace bdc::host
