#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "bdc/base/span.h"

namespace bdc {

/// The processes that share one piece of work, as one of them sees them. Every rank makes the same calls in the same
/// order. The base class is one process on its own: it does nothing and costs nothing.
class Ranks {
 public:
  Ranks() = default;
  virtual ~Ranks() = default;
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;

  [[nodiscard]] virtual int rank() const { return 0; }  ///< of this process, 0 .. size-1
  [[nodiscard]] virtual int size() const { return 1; }
  [[nodiscard]] bool is_alone() const { return size() == 1; }
  [[nodiscard]] bool is_first() const { return rank() == 0; }

  /// Replaces every number of `bucket` by its sum over all ranks: the same bits in each of them.
  virtual void all_reduce_doubles(Span<double> /*bucket*/) {}
  /// The bytes of every rank, in the order of the ranks, in each of them.
  [[nodiscard]] virtual std::vector<std::string> gather(const std::string& bytes) { return {bytes}; }
  /// Hands the bytes of every other rank to rank 0's `take`, one after the other in their order, so that rank 0 never
  /// holds those of two at once. Of rank 0 nothing is sent.
  virtual void send_to_first(const std::string& /*bytes*/, const std::function<void(std::string)>& /*take*/) {}

  /// One process on its own.
  [[nodiscard]] static Ranks& alone() {
    static Ranks one;
    return one;
  }
};

/// [first, last) of n things: the part of a rank. The parts of all ranks are consecutive and hold as many, or one more.
struct RankPart {
  std::size_t first = 0, last = 0;
};
[[nodiscard]] inline RankPart part_of_rank(std::size_t n, const Ranks& ranks) {
  const auto rank = static_cast<std::size_t>(ranks.rank()), size = static_cast<std::size_t>(ranks.size());
  const std::size_t each = n / size, more = n % size, first = each * rank + (rank < more ? rank : more);
  return {first, first + each + (rank < more ? 1 : 0)};
}

}  // namespace bdc
