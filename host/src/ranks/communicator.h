#pragma once

#include <cstddef>
#include <string>

#include "bdc/base/ranks.h"

namespace bdc::host {

/// The processes that train or aggregate together, as one of them sees them: what bdc_core asks of ranks, and what
/// training needs beside. Only rank 0 writes files and to the console. Of several ranks, every call throws UserError
/// (exit 10), naming who is missing, when the others do not come in time.
class Communicator : public Ranks {
 public:
  /// Replaces every number of `bucket` by its sum over all ranks: the same bits in each of them.
  virtual void all_reduce(Span<float> /*bucket*/) {}
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
