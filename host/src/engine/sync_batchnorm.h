#pragma once

#include <torch/types.h>

#include <cstdint>
#include <functional>
#include <vector>

#include "bdc/base/span.h"

namespace bdc::host {

/// Batch norm over the images of all ranks. While a Scope of it lives, every batch norm in training mode that this
/// thread runs, in whichever plugin, takes mean and variance from all ranks' images, and its gradient, too, is that of
/// one process with the whole batch. All ranks with images must run the same ones in the same order.
class SyncBatchNorm {
 public:
  /// What numbers are summed for.
  enum class Pass {
    forward,        ///< statistics that backward will not ask about
    forward_learn,  ///< statistics of a norm that backward will come to
    backward        ///< gradients of statistics, in the opposite order
  };
  /// Replaces numbers by their sums over the ranks.
  using Sum = std::function<void(Span<double>, Pass)>;

  explicit SyncBatchNorm(Sum sum);

  class Scope {
   public:
    /// norm: borrowed, also by the backward of what runs inside; null: nothing changes.
    explicit Scope(SyncBatchNorm* norm);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    SyncBatchNorm* before_;
  };

  /// The loss, whose backward comes to every norm since the last call, also to those on which it does not depend here:
  /// other ranks' losses may.
  [[nodiscard]] torch::Tensor tied(const torch::Tensor& loss);

  /// The norm itself; x: N x C x ..., weight and bias: C numbers or undefined.
  [[nodiscard]] torch::Tensor apply(const torch::Tensor& x, torch::Tensor weight, torch::Tensor bias,
                                    const torch::Tensor& running_mean, const torch::Tensor& running_variance,
                                    double momentum, double eps);
  void sum(std::vector<double>& numbers, Pass pass) const { sum_({numbers.data(), numbers.size()}, pass); }

 private:
  Sum sum_;
  std::vector<torch::Tensor> outputs_;  ///< of norms that backward must come to
};

/// The most channels that a norm whose running statistics are among these buffers can have.
[[nodiscard]] std::int64_t most_norm_channels(const std::vector<torch::Tensor>& buffers);

}  // namespace bdc::host
