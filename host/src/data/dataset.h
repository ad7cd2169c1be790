#pragma once

#include <cstdint>
#include <opencv2/core.hpp>
#include <string>
#include <vector>

#include "bdc/base/error.h"
#include "bdc/crowd/crowd_data.h"

namespace bdc::host {

/// One image cannot be used, but the run can go on without it: batches leave it out.
class BrokenImage : public DataError {
 public:
  using DataError::DataError;
};

/// Images with labels. Implementations are safe to read from several threads at once.
class Dataset {
 public:
  virtual ~Dataset() = default;
  [[nodiscard]] virtual const CrowdData& labels() const = 0;
  /// Image `index` as 8-bit RGB. The pixels may be shared with other callers: do not write to them. Throws BrokenImage
  /// when it is to be left out, DataError when the run must stop. Which of these happens depends on the files alone.
  [[nodiscard]] virtual cv::Mat image(std::int64_t index) const = 0;
  /// For people: the images that were left out so far, one message each, in the order of the images.
  [[nodiscard]] virtual std::vector<std::string> broken_images() const { return {}; }
  [[nodiscard]] std::int64_t size() const { return static_cast<std::int64_t>(labels().images.size()); }
};

}  // namespace bdc::host
