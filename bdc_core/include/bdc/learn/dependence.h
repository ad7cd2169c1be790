#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace bdc {

/// Which annotators err alike more often than chance and their skill explain: friends who copy, detectors of one kind,
/// a team with its own habits. Their agreement proves less than that of strangers.
struct Dependence {
  /// share: of what one of the two gets wrong, how much the other gets wrong in the same way; in (0, 1].
  struct Pair {
    std::int32_t first = 0, second = 0;  ///< annotators, first < second
    double share = 0;
  };
  std::vector<Pair> pairs;              ///< sorted by first, then second; pairs that are not listed are independent
  std::vector<std::int32_t> community;  ///< per annotator: connected by pairs; -1: nobody errs like this one
  std::int32_t communities = 0;
  /// Nearly all who could be judged are of one community; or nobody could be told apart from the others, and yet those
  /// who contradict the consensus contradict it in the same way, as when the majority of a crowd errs alike.
  bool one_voice = false;
};

}  // namespace bdc
