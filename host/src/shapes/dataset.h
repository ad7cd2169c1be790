#pragma once

#include <cstdint>
#include <opencv2/core.hpp>

#include "bdc/core/crowd_data.h"

namespace bdc::host {

/// Images with labels. Implementations are safe to read from several threads at once.
class Dataset {
 public:
  virtual ~Dataset() = default;
  [[nodiscard]] virtual const CrowdData& labels() const = 0;
  /// Image `index` as 8-bit RGB. Throws DataError when it cannot be had.
  [[nodiscard]] virtual cv::Mat image(std::int64_t index) const = 0;
  [[nodiscard]] std::int64_t size() const { return static_cast<std::int64_t>(labels().images.size()); }
};

}  // namespace bdc::host
