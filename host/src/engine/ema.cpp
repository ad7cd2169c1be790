#include "engine/ema.h"

#include <torch/nn.h>
#include <torch/utils.h>

#include <cmath>

#include "bdc/base/user_error.h"

namespace bdc::host {
namespace {

constexpr double kRamp = 2000;

std::map<std::string, torch::Tensor> copy_of(torch::nn::Module& module) {
  std::map<std::string, torch::Tensor> out;
  for (const auto& [name, tensor] : module_state(module)) out[name] = tensor.detach().clone();
  return out;
}

}  // namespace

Ema::Ema(torch::nn::Module& module, double decay) : module_(module), decay_(decay) {
  if (is_on()) mean_ = copy_of(module);
}

void Ema::update() {
  if (!is_on()) return;
  torch::NoGradGuard no_grad;
  ++updates_;
  const double keep = decay_ * (1 - std::exp(-static_cast<double>(updates_) / kRamp));
  for (const auto& [name, tensor] : module_state(module_)) {
    torch::Tensor& mean = mean_.at(name);
    if (mean.is_floating_point()) {
      mean.lerp_(tensor.detach(), 1 - keep);
    } else {
      mean.copy_(tensor);
    }
  }
}

void Ema::load_state(const std::map<std::string, torch::Tensor>& state, std::int64_t updates) {
  torch::NoGradGuard no_grad;
  for (auto& [name, mean] : mean_) {
    const auto it = state.find(name);
    if (it == state.end() || it->second.sizes() != mean.sizes() || it->second.scalar_type() != mean.scalar_type()) {
      throw UserError(ExitCode::data,
                      "the checkpoint's averaged weights (EMA) do not fit the detector ('" + name + "')");
    }
  }
  for (auto& [name, mean] : mean_) mean.copy_(state.at(name));
  updates_ = updates;
}

Ema::Lent::Lent(Ema& ema) : ema_(ema) {
  if (!ema.is_on()) return;
  own_ = copy_of(ema.module_);
  load_module_state(ema.module_, ema.mean_);
}

Ema::Lent::~Lent() {
  if (ema_.is_on()) load_module_state(ema_.module_, own_);
}

}  // namespace bdc::host
