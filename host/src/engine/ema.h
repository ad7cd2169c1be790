#pragma once

#include <map>
#include <string>

#include "engine/checkpoint.h"

namespace bdc::host {

/// A running mean of the weights and buffers, which is what gets evaluated and kept. After n updates the decay is
/// decay * (1 - exp(-n / 2000)), so that the first, untrained weights are soon forgotten. Integer buffers are copied.
class Ema {
 public:
  /// decay 0: off; then nothing is kept.
  Ema(torch::nn::Module& module, double decay);

  [[nodiscard]] bool is_on() const { return decay_ > 0; }
  void update();
  [[nodiscard]] const std::map<std::string, torch::Tensor>& state() const { return mean_; }
  [[nodiscard]] std::int64_t updates() const { return updates_; }
  /// Throws UserError (exit 4) unless names, shapes and types are those of state().
  void load_state(const std::map<std::string, torch::Tensor>& state, std::int64_t updates);

  /// Lends the mean to the module while it lives; the module's own weights come back bit for bit.
  class Lent {
   public:
    explicit Lent(Ema& ema);
    ~Lent();
    Lent(const Lent&) = delete;
    Lent& operator=(const Lent&) = delete;

   private:
    Ema& ema_;
    std::map<std::string, torch::Tensor> own_;
  };

 private:
  torch::nn::Module& module_;
  double decay_;
  std::int64_t updates_ = 0;
  std::map<std::string, torch::Tensor> mean_;
};

}  // namespace bdc::host
