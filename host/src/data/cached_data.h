#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "data/dataset.h"

namespace bdc::host {

/// A data set whose decoded images are kept in memory, the first ones asked for until `max_bytes` are full. Nothing is
/// thrown out: every epoch visits every image once, so the latest image is no likelier to come again than the first.
class CachedData : public Dataset {
 public:
  CachedData(std::shared_ptr<const Dataset> inner, std::int64_t max_bytes);

  [[nodiscard]] const CrowdData& labels() const override { return inner_->labels(); }
  [[nodiscard]] cv::Mat image(std::int64_t index) const override;
  [[nodiscard]] std::vector<std::string> broken_images() const override { return inner_->broken_images(); }
  [[nodiscard]] std::int64_t bytes_used() const;

 private:
  std::shared_ptr<const Dataset> inner_;
  std::int64_t max_bytes_;
  mutable std::mutex mutex_;
  mutable std::vector<cv::Mat> images_;  // one per image; empty: not kept
  mutable std::int64_t bytes_ = 0;
};

}  // namespace bdc::host
