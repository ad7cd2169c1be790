#pragma once

#include <bdc/plugin/ranks.h>
#include <bdc/plugin/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "ranks/communicator.h"

namespace bdc::host {

/// This rank's part of every list: consecutive items, as many as the others' or one more; none when there are more
/// ranks than items.
[[nodiscard]] std::vector<std::vector<std::int64_t>> shares_of(std::vector<std::vector<std::int64_t>> lists, int rank,
                                                               int size);

/// One batch after the other, worked on by all ranks: who has images of it, the counts that a loss is divided by, and
/// the mean of the losses. All ranks go through the same calls:
///
///     begin -> (own images) the loss, which may ask for counts, then finish;  (none) sit_out
///
/// In one process it does nothing.
class SharedBatch {
 public:
  /// Both are borrowed. plugin: the detector's name, for messages.
  SharedBatch(Communicator& ranks, const std::string& plugin) : ranks_(ranks), plugin_(plugin) {}

  struct Turn {
    bool stop = false;        ///< some rank has been asked to stop
    std::int64_t images = 0;  ///< of all ranks
  };
  [[nodiscard]] Turn begin(bool stop, std::int64_t images);
  /// What a detector asks for counts.
  [[nodiscard]] plugin::SharedCounts counts();
  /// The mean over the ranks of what this one and the others hand in. Throws UserError (exit 7) when the ranks did not
  /// ask for the same number of counts.
  [[nodiscard]] plugin::LossTerms finish(const plugin::LossTerms& own);
  /// The same for a rank without images, which takes part with zeros.
  [[nodiscard]] plugin::LossTerms sit_out();

 private:
  /// One exchange: numbers, then how many ranks ask for counts, then how many are through with their loss.
  std::vector<double> exchange(const std::vector<double>& numbers, bool asks, bool is_done);
  [[nodiscard]] plugin::LossTerms mean_of(const std::vector<double>& sums) const;

  Communicator& ranks_;
  const std::string& plugin_;
  std::vector<std::string> parts_;  ///< names of the loss's parts, as last seen
};

}  // namespace bdc::host
