#pragma once

#include <torch/nn.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "eva/attention.h"

namespace eva {

/// Shown intermediate results, by name; for tests.
using Watch = std::function<void(const std::string&, const Tensor&)>;

constexpr double kNormEpsilon = 1e-6;

/// Feed-forward layer w3 norm( silu(w1 x) * w2 x ).
class SwiGlu : public torch::nn::Module {
 public:
  SwiGlu(std::int64_t dim, std::int64_t hidden);
  [[nodiscard]] Tensor forward(const Tensor& x);

 private:
  torch::nn::Linear w1_{nullptr}, w2_{nullptr};
  torch::nn::LayerNorm ffn_ln_{nullptr};
  torch::nn::Linear w3_{nullptr};
};

struct BlockOptions {
  std::int64_t dim = 0, heads = 0, hidden = 0;
  std::int64_t window = 0;  ///< edge of the windows in tokens; 0: all tokens attend to all
  double drop_path = 0;     ///< share of images whose branch is left out in training; the others count 1/(1 - share)
  double layer_scale = 0;   ///< start value of a learnt factor per channel of each branch; 0: no such factor
};

/// x + a(norm1 x), then x + f(norm2 x): attention a, feed-forward f.
class Block : public torch::nn::Module {
 public:
  Block(const BlockOptions& options, std::shared_ptr<Rope> rope);
  /// x: B x height x width x dim. `watch` gets "attn" (before windows are joined) and "mlp".
  [[nodiscard]] Tensor forward(const Tensor& x, const Watch& watch = {});
  [[nodiscard]] bool draws_random_numbers() const { return options_.drop_path > 0 && is_training(); }

 private:
  [[nodiscard]] Tensor branch(const Tensor& y, const Tensor& gamma);

  BlockOptions options_;
  Tensor gamma_1_, gamma_2_;  ///< undefined without layer scale
  torch::nn::LayerNorm norm1_{nullptr};
  std::shared_ptr<Attention> attn_;
  torch::nn::LayerNorm norm2_{nullptr};
  std::shared_ptr<SwiGlu> mlp_;
};

}  // namespace eva
