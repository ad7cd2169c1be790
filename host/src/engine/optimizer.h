#pragma once

#include <bdc/plugin/detector.h>

#include <map>
#include <string>
#include <vector>

namespace bdc::host {

struct OptimizerSettings {
  std::string kind = "sgd";  ///< "sgd" (with momentum) or "adamw"
  double momentum = 0.9;
  bool nesterov = false;  ///< sgd: look ahead along the momentum
  double weight_decay = 0.0005;
  double clip_norm = 0;  ///< 0: no limit
};

/// SGD with momentum and AdamW, as LibTorch defines them, with a state that is plain named tensors and so goes into a
/// checkpoint and comes back bit for bit.
class Optimizer {
 public:
  Optimizer(std::vector<plugin::ParameterGroup> groups, const OptimizerSettings& settings);

  void zero_grad();
  /// One update with the gradients divided by `gradient_scale`; returns their norm before clipping. Unless that is
  /// finite, nothing changes.
  double step(double learning_rate, double gradient_scale = 1.0);

  [[nodiscard]] std::map<std::string, torch::Tensor> state() const;
  /// Throws UserError (exit 4) unless the names and shapes are those of state().
  void load_state(const std::map<std::string, torch::Tensor>& state);

 private:
  [[nodiscard]] double gradient_norm() const;

  struct Slot {
    torch::Tensor parameter, first, second;  // momentum; or mean and mean square of the gradient
    double learning_rate_factor, weight_decay_factor;
  };
  OptimizerSettings settings_;
  std::vector<Slot> slots_;
  std::int64_t steps_ = 0;
};

}  // namespace bdc::host
