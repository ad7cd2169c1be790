#pragma once

#include <torch/types.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "ranks/communicator.h"

namespace bdc::host {

/// Gradients that are summed over the ranks in buckets, which leave while backward still runs: as soon as a bucket's
/// gradients are there and the one before it has left, so that all ranks send the same buckets in the same order
/// whatever their backward does. The sums have the same bits in every rank.
class SharedGradients {
 public:
  /// The ranks are borrowed. parameters: the same in all ranks, in the order in which forward uses them (backward goes
  /// the other way).
  SharedGradients(Communicator& ranks, const std::vector<torch::Tensor>& parameters);
  ~SharedGradients();
  SharedGradients(const SharedGradients&) = delete;
  SharedGradients& operator=(const SharedGradients&) = delete;

  /// The backward that begins now is the last one before finish(): what it completes may leave.
  void begin();
  /// Sends what has not left, waits, and makes every gradient the sum over the ranks. A parameter that has a gradient
  /// in no rank has none afterwards. `more` are tensors of floats to be summed along with them.
  void finish(const std::vector<torch::Tensor>& more = {});

  /// Where the time of all sums since the last call went.
  struct Seconds {
    double under_way = 0;  ///< at least one sum was
    double waited = 0;     ///< finish() had nothing else left to do
  };
  [[nodiscard]] Seconds take_seconds();

  struct State;  ///< shared with what backward calls

 private:
  std::shared_ptr<State> state_;
};

}  // namespace bdc::host
