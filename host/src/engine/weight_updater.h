#pragma once

#include <bdc/plugin/types.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "engine/checkpoint.h"
#include "engine/detector_handle.h"
#include "engine/ema.h"
#include "engine/mixed_precision.h"
#include "engine/optimizer.h"
#include "engine/shared_gradients.h"
#include "engine/train_settings.h"
#include "ranks/communicator.h"

namespace bdc::host {

/// Turns losses into new weights: the gradients of `accumulate` batches make one step of the optimiser. Owns all that
/// goes with it: the optimiser's state, the loss scale of mixed precision, the running mean of the weights.
class WeightUpdater {
 public:
  /// The detector and the ranks are borrowed.
  WeightUpdater(DetectorHandle& detector, const TrainSettings& settings, Communicator& ranks);

  /// Adds the gradient of a batch's loss to those that wait; `images` are this rank's in it. is_last: step() comes
  /// next, so that gradients go to the other ranks as soon as they are there.
  void add(const torch::Tensor& loss, std::int64_t images = 1, bool is_last = true);
  /// The same for a batch of which this rank has no images.
  void add_nothing();
  [[nodiscard]] std::int64_t waiting() const { return waiting_; }  ///< batches since the last step
  /// One step along the mean gradient of the batches that wait, however many they are, over all ranks; then the running
  /// mean follows. Buffers that learn (the statistics of batch norm) become the mean over the ranks, by images. Returns
  /// the gradient's norm before clipping; unless that is finite, no weight has changed.
  double step(double learning_rate);
  /// Whether a loss or a gradient that is not finite is an error: no smaller loss scale is left to try.
  [[nodiscard]] bool needs_finite() const { return loss_scale_.is_exhausted(); }

  /// What sums over the ranks have cost since the last call.
  [[nodiscard]] SharedGradients::Seconds take_seconds();

  [[nodiscard]] Ema& ema() { return ema_; }
  /// What should be evaluated and kept: the running mean where there is one.
  [[nodiscard]] std::map<std::string, torch::Tensor> best_guess();

  /// Gives every rank the weights and buffers of rank 0.
  void take_weights_of_first();

  void save(Checkpoint& checkpoint) const;
  /// Throws UserError (exit 4) when the checkpoint's tensors are not this run's.
  void restore(const Checkpoint& checkpoint);

 private:
  /// What every rank sends of its buffers: what each has changed since all were the same.
  void keep_buffers();
  void sum_over_ranks();

  DetectorHandle& detector_;
  Communicator& ranks_;
  double accumulate_;
  std::vector<torch::Tensor> parameters_;
  Optimizer optimizer_;
  LossScale loss_scale_;
  Ema ema_;
  std::int64_t waiting_ = 0;
  // Where there are several ranks.
  std::unique_ptr<SharedGradients> shared_gradients_;
  double images_ = 0;                   ///< of this rank, since the last step
  std::vector<torch::Tensor> buffers_;  ///< the module's, of finite floating-point numbers
  std::vector<torch::Tensor> shared_;   ///< as they were when all ranks had the same
};

}  // namespace bdc::host
