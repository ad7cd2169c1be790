#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "bdc/base/ranks.h"

namespace bdc::host {

/// Numbers that are summed over the ranks while the caller does something else.
struct Bucket {
  float* numbers = nullptr;
  std::size_t count = 0;
  bool is_on_device = false;    ///< in the memory of the CUDA device of this rank; only where takes_device_memory()
  std::shared_ptr<void> owner;  ///< keeps the memory for as long as it is needed
};

/// A sum over the ranks that is under way.
class PendingSum {
 public:
  virtual ~PendingSum() = default;
  /// Returns when the bucket holds the sums. Throws as the calls of Communicator do.
  virtual void wait() = 0;
  /// After wait(): now_seconds() when the sums were there.
  [[nodiscard]] virtual double done_at() const = 0;
};

/// The processes that train or aggregate together, as one of them sees them: what bdc_core asks of ranks, and what
/// training needs beside. Only rank 0 writes files and to the console. Of several ranks, every call throws UserError
/// (exit 10), naming who is missing, when the others do not come in time.
class Communicator : public Ranks {
 public:
  /// Replaces every number of `bucket` by its sum over all ranks: the same bits in each of them.
  virtual void all_reduce(Span<float> /*bucket*/) {}
  /// Begins to do the same to a bucket. All ranks begin them in the same order, but how these calls fall between the
  /// others is up to each rank. Without an override the sum is made by all_reduce in wait().
  [[nodiscard]] virtual std::unique_ptr<PendingSum> begin_sum(Bucket bucket);
  /// Says which CUDA device this rank computes on, -1 for none; all ranks do. Buckets may then be on the devices, if
  /// each rank has one of its own and the build can (NCCL).
  virtual void use_device(int /*device*/) {}
  [[nodiscard]] virtual bool takes_device_memory() const { return false; }
  /// Gives every rank the bytes that `root` has. `count` is the same in all ranks.
  virtual void broadcast(void* /*bytes*/, std::size_t /*count*/, int /*root*/) {}
  /// Returns when all ranks have come here.
  virtual void barrier() {}

  /// Where this rank stands now, for messages: "epoch 2, step 7".
  virtual void note_place(const std::string& /*place*/) {}
  /// Tells the others why this rank leaves early, so that they can say so. Never throws; no other call may follow.
  virtual void leave(const std::string& /*why*/) noexcept {}

  /// One process on its own.
  [[nodiscard]] static Communicator& alone() {
    static Communicator one;
    return one;
  }
};

}  // namespace bdc::host
