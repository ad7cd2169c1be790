#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "data/batch.h"

namespace bdc::host {

struct LoaderSettings {
  std::int64_t input_size = 0;
  BatchSettings batch;     ///< `threads` counts for workers = 0 only; a worker makes its batch alone
  int workers = 0;         ///< threads that make batches ahead; 0: next() makes each in the caller's thread
  std::int64_t first = 0;  ///< the list to begin with: where an interrupted epoch goes on
};

/// Makes the batches of given lists of image indices, ahead of time and in the background, and hands them out strictly
/// in order. The same bits for any number of workers. At most twice as many batches as workers wait in memory.
///
///     BatchLoader loader(data, lists, settings);
///     while (auto batch = loader.next()) train(*batch);
class BatchLoader {
 public:
  /// `data` is borrowed and must outlive the loader.
  BatchLoader(const Dataset& data, std::vector<std::vector<std::int64_t>> lists, const LoaderSettings& settings);
  /// Stops the workers; waits at most for the images that are being read.
  ~BatchLoader();
  BatchLoader(const BatchLoader&) = delete;
  BatchLoader& operator=(const BatchLoader&) = delete;

  /// The next batch; nothing after the last. A batch whose images are all broken is passed over, so Batch::number, not
  /// the count of calls, is the place in the lists: a run that goes on sets `first` to the last number plus one.
  /// An exception of a worker is thrown here, when its batch's turn has come; after it there are no more batches.
  [[nodiscard]] std::optional<Batch> next();

 private:
  class Work;
  std::unique_ptr<Work> work_;
};

}  // namespace bdc::host
