#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "bdc/base/span.h"

namespace bdc::host {

/// The processes that train together, as one of them sees them. Every rank makes the same calls in the same order.
/// Training asks it where several ranks must agree, and only rank 0 writes to the run folder and to the console. The
/// base class is one process on its own: it does nothing and costs nothing. Of several ranks, every call throws
/// UserError (exit 10), naming who is missing, when the others do not come in time.
class Communicator {
 public:
  Communicator() = default;
  virtual ~Communicator() = default;
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  [[nodiscard]] virtual int rank() const { return 0; }  ///< of this process, 0 .. size-1
  [[nodiscard]] virtual int size() const { return 1; }
  [[nodiscard]] bool is_alone() const { return size() == 1; }
  [[nodiscard]] bool is_first() const { return rank() == 0; }

  /// Replaces every number of `bucket` by its sum over all ranks: the same bits in each of them.
  virtual void all_reduce(Span<float> /*bucket*/) {}
  virtual void all_reduce_doubles(Span<double> /*bucket*/) {}
  /// Gives every rank the bytes that `root` has. `count` is the same in all ranks.
  virtual void broadcast(void* /*bytes*/, std::size_t /*count*/, int /*root*/) {}
  /// The bytes of every rank, in the order of the ranks, in each of them.
  [[nodiscard]] virtual std::vector<std::string> gather(const std::string& bytes) { return {bytes}; }
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
