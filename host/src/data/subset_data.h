#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "data/dataset.h"

namespace bdc::host {

/// The labels of some images, in the order given. Classes and annotators stay as they are, also those without boxes.
/// Throws std::out_of_range for an image that is not there.
[[nodiscard]] CrowdData select_images(const CrowdData& labels, const std::vector<std::int64_t>& images);

/// Some images of a data set, as a data set of their own.
class SubsetData : public Dataset {
 public:
  SubsetData(std::shared_ptr<const Dataset> inner, std::vector<std::int64_t> images);

  [[nodiscard]] const CrowdData& labels() const override { return labels_; }
  [[nodiscard]] cv::Mat image(std::int64_t index) const override;
  /// Of the whole data set that this is a part of.
  [[nodiscard]] std::vector<std::string> broken_images() const override { return inner_->broken_images(); }

 private:
  std::shared_ptr<const Dataset> inner_;
  std::vector<std::int64_t> images_;
  CrowdData labels_;
};

/// Numbers 0..count-1 in two parts, each in ascending order: the second has round(share * count) of them, drawn with
/// the seed, at least one and at most count - 1 unless share is 0 or there is only one.
[[nodiscard]] std::pair<std::vector<std::int64_t>, std::vector<std::int64_t>> split_images(std::int64_t count,
                                                                                           double share,
                                                                                           std::uint64_t seed);

}  // namespace bdc::host
