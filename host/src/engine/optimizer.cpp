#include "engine/optimizer.h"

#include <torch/nn.h>
#include <torch/utils.h>

#include <cmath>

#include "bdc/base/user_error.h"

namespace bdc::host {

Optimizer::Optimizer(std::vector<plugin::ParameterGroup> groups, const OptimizerSettings& settings)
    : settings_(settings) {
  for (auto& group : groups) {
    for (auto& p : group.parameters) {
      slots_.push_back({p, torch::zeros_like(p), settings.kind == "adamw" ? torch::zeros_like(p) : torch::Tensor(),
                        group.learning_rate_factor, group.weight_decay_factor});
    }
  }
}

void Optimizer::zero_grad() {
  for (auto& slot : slots_) slot.parameter.mutable_grad().reset();
}

double Optimizer::gradient_norm() const {
  std::vector<torch::Tensor> norms;
  for (const auto& slot : slots_) {
    if (slot.parameter.grad().defined()) norms.push_back(slot.parameter.grad().norm());
  }
  if (norms.empty()) return 0;
  // All in one transfer: a device is waited for once.
  const torch::Tensor all = torch::stack(norms).to(torch::kCPU, torch::kFloat64);
  double squares = 0;
  for (std::int64_t n = 0; n < all.size(0); ++n) squares += all.data_ptr<double>()[n] * all.data_ptr<double>()[n];
  return std::sqrt(squares);
}

double Optimizer::step(double learning_rate, double gradient_scale) {
  torch::NoGradGuard no_grad;
  const double norm = gradient_norm() / gradient_scale;
  if (!std::isfinite(norm)) return norm;
  const double clip = settings_.clip_norm > 0 && norm > settings_.clip_norm ? settings_.clip_norm / norm : 1.0;
  const double scale = clip / gradient_scale;
  ++steps_;
  const double t = static_cast<double>(steps_);
  for (auto& slot : slots_) {
    if (!slot.parameter.grad().defined()) continue;
    const double rate = learning_rate * slot.learning_rate_factor;
    const double decay = settings_.weight_decay * slot.weight_decay_factor;
    torch::Tensor gradient = slot.parameter.grad();
    if (scale != 1.0) gradient.mul_(scale);
    if (settings_.kind == "adamw") {
      constexpr double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;
      slot.parameter.mul_(1 - rate * decay);
      slot.first.mul_(beta1).add_(gradient, 1 - beta1);
      slot.second.mul_(beta2).addcmul_(gradient, gradient, 1 - beta2);
      const auto spread = (slot.second / (1 - std::pow(beta2, t))).sqrt_().add_(epsilon);
      slot.parameter.addcdiv_(slot.first, spread, -rate / (1 - std::pow(beta1, t)));
    } else {
      if (decay != 0) gradient = gradient.add(slot.parameter, decay);
      slot.first.mul_(settings_.momentum).add_(gradient);
      slot.parameter.add_(settings_.nesterov ? gradient.add(slot.first, settings_.momentum) : slot.first, -rate);
    }
  }
  return norm;
}

std::map<std::string, torch::Tensor> Optimizer::state() const {
  std::map<std::string, torch::Tensor> out;
  out["steps"] = torch::tensor({steps_}, torch::kInt64);
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    out[std::to_string(i) + ".first"] = slots_[i].first;
    if (slots_[i].second.defined()) out[std::to_string(i) + ".second"] = slots_[i].second;
  }
  return out;
}

void Optimizer::load_state(const std::map<std::string, torch::Tensor>& state) {
  torch::NoGradGuard no_grad;
  const auto own = this->state();
  for (const auto& [name, tensor] : own) {
    const auto it = state.find(name);
    if (it == state.end() || it->second.sizes() != tensor.sizes() || it->second.scalar_type() != tensor.scalar_type()) {
      throw UserError(ExitCode::data, "the checkpoint's optimiser state does not fit this run (" + name + ")");
    }
  }
  if (state.size() != own.size()) {
    throw UserError(ExitCode::data, "the checkpoint's optimiser state does not fit this run: it has " +
                                        std::to_string(state.size()) + " tensors, expected " +
                                        std::to_string(own.size()));
  }
  steps_ = state.at("steps").item<std::int64_t>();
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    slots_[i].first.copy_(state.at(std::to_string(i) + ".first"));
    if (slots_[i].second.defined()) slots_[i].second.copy_(state.at(std::to_string(i) + ".second"));
  }
}

}  // namespace bdc::host
