#pragma once

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "bdc/base/span.h"

namespace bdc::plugin {

/// What a loss is divided by where several processes, the ranks, share each batch.
///
/// Gradients and losses are averaged over the ranks. A detector that divides a sum by a count of its own images (of
/// targets, matched pairs, samples, images) would then give a rank with few of them too much weight. Divided by
/// divisor(count) instead, the average is that of one process with the whole batch: with R ranks, sums S_r, counts n_r,
///
///     (1/R) sum_r S_r / divisor(n_r) = sum_r S_r / max(least, sum_r n_r).
///
/// All ranks must ask for the same number of divisors in the same order in each loss, also for images without targets;
/// the host stops a run in which they do not. A rank without images does not call the detector: the host asks for it.
class SharedCounts {
 public:
  using Sum = std::function<void(Span<double>)>;

  /// One process on its own: divisor(count) is max(least, count).
  SharedCounts() = default;
  /// sum: replaces numbers by their sums over the ranks, the same bits in each of them.
  SharedCounts(int ranks, Sum sum) : ranks_(ranks), sum_(std::move(sum)) {}

  [[nodiscard]] int ranks() const { return ranks_; }
  [[nodiscard]] bool is_alone() const { return !sum_; }

  /// max(least, sum of `count` over the ranks) / ranks.
  [[nodiscard]] double divisor(double count, double least = 1) const { return divisors({count}, least)[0]; }
  /// The same for several counts at once, which costs no more than one.
  [[nodiscard]] std::vector<double> divisors(std::vector<double> counts, double least = 1) const {
    if (sum_) sum_({counts.data(), counts.size()});
    for (double& count : counts) count = std::max(least, count) / ranks_;
    return counts;
  }

 private:
  int ranks_ = 1;
  Sum sum_;
};

/// A detector that derives from this as well as from Detector keeps the law above, and is told of the other ranks
/// before the first step. Of any other detector the plain average of what the ranks would do alone is taken, and the
/// user is told so.
class SharesBatches {
 public:
  virtual ~SharesBatches() = default;
  virtual void use_counts(SharedCounts counts) = 0;
};

}  // namespace bdc::plugin
