#pragma once

#include <bdc/plugin/ranks.h>
#include <bdc/plugin/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/sync_batchnorm.h"
#include "ranks/communicator.h"

namespace bdc::host {

/// This rank's part of every list: consecutive items, as many as the others' or one more; none when there are more
/// ranks than items.
[[nodiscard]] std::vector<std::vector<std::int64_t>> shares_of(std::vector<std::vector<std::int64_t>> lists, int rank,
                                                               int size);

/// One batch after the other, worked on by all ranks: who has images of it, the counts that a loss is divided by, the
/// statistics of batch norm if they are to be shared, and the mean of the losses. All ranks go through the same calls:
///
///     begin -> (own images) forward and the loss under norm(), then finish and backward;  (none) sit_out
///
/// In one process it does nothing.
class SharedBatch {
 public:
  /// The ranks and the name are borrowed. plugin: the detector's name, for messages. norm_channels: the most that a
  /// batch norm has whose statistics come from all ranks' images; 0: each rank takes its own.
  SharedBatch(Communicator& ranks, const std::string& plugin, std::int64_t norm_channels = 0);
  SharedBatch(const SharedBatch&) = delete;
  SharedBatch& operator=(const SharedBatch&) = delete;

  struct Turn {
    bool stop = false;        ///< some rank has been asked to stop
    std::int64_t images = 0;  ///< of all ranks
  };
  [[nodiscard]] Turn begin(bool stop, std::int64_t images);
  /// What a detector asks for counts.
  [[nodiscard]] plugin::SharedCounts counts();
  /// What forward and the loss must run in the scope of (sync_batchnorm.h); null: nothing.
  [[nodiscard]] SyncBatchNorm* norm() { return norm_ ? &*norm_ : nullptr; }
  /// The mean over the ranks of what this one and the others hand in. Throws UserError (exit 7) when the ranks did not
  /// ask for the same counts and statistics.
  [[nodiscard]] plugin::LossTerms finish(const plugin::LossTerms& own);
  /// The loss to call backward on.
  [[nodiscard]] torch::Tensor to_learn_from(const torch::Tensor& loss) { return norm_ ? norm_->tied(loss) : loss; }
  /// The same for a rank without images, which takes part with zeros. sit_out_backward: beside the others' backward.
  [[nodiscard]] plugin::LossTerms sit_out();
  void sit_out_backward();

 private:
  /// What a rank that has images asks the others for.
  enum class Asks : std::size_t { counts, norm, norm_to_learn, norm_backward, end };
  struct Answer {
    Asks asks;
    std::vector<double> sums;
  };
  /// One exchange with numbers of this rank; without `asks` it joins in with what the others ask for.
  Answer exchange(Span<const double> numbers, std::optional<Asks> asks);
  void exchange_in_place(Span<double> numbers, Asks asks);
  [[nodiscard]] plugin::LossTerms mean_of(const std::vector<double>& sums) const;

  Communicator& ranks_;
  const std::string& plugin_;
  std::size_t width_;  ///< most numbers in an exchange
  std::optional<SyncBatchNorm> norm_;
  std::int64_t norms_to_learn_ = 0;  ///< of the batch that this rank sits out
  std::vector<std::string> parts_;   ///< names of the loss's parts, as last seen
};

}  // namespace bdc::host
