#include "data/cached_data.h"

#include <stdexcept>

namespace bdc::host {

CachedData::CachedData(std::shared_ptr<const Dataset> inner, std::int64_t max_bytes)
    : inner_(std::move(inner)), max_bytes_(max_bytes), images_(static_cast<std::size_t>(inner_->size())) {}

cv::Mat CachedData::image(std::int64_t index) const {
  if (index < 0 || index >= size()) throw std::out_of_range("no image " + std::to_string(index));
  const auto at = static_cast<std::size_t>(index);
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!images_[at].empty()) return images_[at];
  }
  const cv::Mat image = inner_->image(index);
  const auto bytes = static_cast<std::int64_t>(image.total() * image.elemSize());
  const std::lock_guard<std::mutex> lock(mutex_);
  if (images_[at].empty() && bytes <= max_bytes_ - bytes_) {
    images_[at] = image;
    bytes_ += bytes;
  }
  return image;
}

std::int64_t CachedData::bytes_used() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return bytes_;
}

}  // namespace bdc::host
