// Half precision and devices, as far as a machine without CUDA can tell.

#include "engine/mixed_precision.h"

#include <gtest/gtest.h>
#include <torch/cuda.h>
#include <torch/nn.h>
#include <torch/utils.h>

#include <limits>

#include "bdc/base/user_error.h"
#include "engine/device.h"
#include "engine/optimizer.h"

namespace bdc::host {
namespace {

TEST(HalfPrecision, LastsAsLongAsItsScope) {
  const auto a = torch::rand({4, 4});
  {
    const HalfPrecision outer(torch::kCPU, true);
    EXPECT_EQ(torch::mm(a, a).scalar_type(), torch::kBFloat16);
    { const HalfPrecision inner(torch::kCPU, true); }
    EXPECT_EQ(torch::mm(a, a).scalar_type(), torch::kBFloat16) << "an inner scope must not end the outer one";
  }
  EXPECT_EQ(torch::mm(a, a).scalar_type(), torch::kFloat32);
  const HalfPrecision off(torch::kCPU, false);
  EXPECT_EQ(torch::mm(a, a).scalar_type(), torch::kFloat32);
}

TEST(LossScale, HalvesOnOverflowAndGrowsAfterManyGoodSteps) {
  LossScale scale(true);
  EXPECT_EQ(scale.factor(), 65536);
  scale.after_step(false);
  EXPECT_EQ(scale.factor(), 32768);
  for (std::int64_t i = 0; i < LossScale::kPatience - 1; ++i) scale.after_step(true);
  EXPECT_EQ(scale.factor(), 32768);
  scale.after_step(true);
  EXPECT_EQ(scale.factor(), 65536);
  EXPECT_FALSE(scale.is_exhausted());
  for (int i = 0; i < 40; ++i) scale.after_step(false);
  EXPECT_EQ(scale.factor(), 1);
  EXPECT_TRUE(scale.is_exhausted());
}

TEST(LossScale, AnOverflowStartsTheCountAnew) {
  LossScale scale(true);
  for (std::int64_t i = 0; i < LossScale::kPatience - 1; ++i) scale.after_step(true);
  scale.after_step(false);
  scale.after_step(true);
  EXPECT_EQ(scale.factor(), 32768);
  LossScale restored(true);
  restored.restore(scale.factor(), scale.good_steps());
  EXPECT_EQ(restored.factor(), 32768);
  EXPECT_EQ(restored.good_steps(), 1);
}

TEST(LossScale, OffIsOneForever) {
  LossScale scale(false);
  scale.after_step(false);
  EXPECT_EQ(scale.factor(), 1);
  EXPECT_TRUE(scale.is_exhausted());
}

/// One parameter of three numbers with the given gradient, after a step.
torch::Tensor after_step(const std::string& kind, const torch::Tensor& gradient, double gradient_scale,
                         double* norm = nullptr) {
  auto parameter = torch::tensor({1.0F, 2.0F, 3.0F}).requires_grad_(true);
  OptimizerSettings settings;
  settings.kind = kind;
  settings.clip_norm = 1.0;
  Optimizer optimizer({{"all", {parameter}, 1.0, 1.0}}, settings);
  parameter.mutable_grad() = gradient.clone();
  const double n = optimizer.step(0.1, gradient_scale);
  if (norm) *norm = n;
  return parameter.detach();
}

TEST(Optimizer, AGradientScaleIsTakenOutAgain) {
  const auto gradient = torch::tensor({0.5F, -2.0F, 1.0F});
  for (const char* kind : {"sgd", "adamw"}) {
    double plain = 0, scaled = 0;
    const auto a = after_step(kind, gradient, 1, &plain), b = after_step(kind, gradient * 1024, 1024, &scaled);
    EXPECT_TRUE(torch::equal(a, b)) << kind << ": powers of two are exact";
    EXPECT_EQ(plain, scaled);
  }
}

TEST(Optimizer, AGradientThatIsNotFiniteChangesNothing) {
  const float inf = std::numeric_limits<float>::infinity();
  for (const char* kind : {"sgd", "adamw"}) {
    const auto p = after_step(kind, torch::tensor({0.5F, inf, 1.0F}), 1);
    EXPECT_TRUE(torch::equal(p, torch::tensor({1.0F, 2.0F, 3.0F}))) << kind;
  }
}

std::string refusal(const std::string& device, ExitCode code = ExitCode::config) {
  try {
    (void)device_of(device);
  } catch (const UserError& e) {
    EXPECT_EQ(e.code(), code);
    return e.what();
  }
  return "";
}

TEST(Device, IsCheckedBeforeUse) {
  EXPECT_TRUE(device_of("cpu").is_cpu());
  for (const char* wrong : {"gpu", "cuda:", "cuda:x", "cuda:-1", "cuda:99999999999", "", "CPU"}) {
    EXPECT_NE(refusal(wrong).find("expected auto, cpu, cuda or cuda:N"), std::string::npos) << wrong;
  }
  EXPECT_NE(refusal("cuda:900", ExitCode::device).find("'cuda:900' is not available"), std::string::npos);
  if (!torch::cuda::is_available()) {
    EXPECT_TRUE(device_of("auto").is_cpu());
    EXPECT_NE(refusal("cuda", ExitCode::device).find("--device cpu"), std::string::npos);
  }
}

}  // namespace
}  // namespace bdc::host
