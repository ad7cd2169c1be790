#pragma once

#include <filesystem>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "data/image_file.h"

namespace bdc::host {

/// Image files of a list of files, folders (with their sub-folders) and patterns with * and ?, sorted, each once. Files
/// in folders that are no images by their extension are left out. Throws DataError when a word leads to no image.
[[nodiscard]] std::vector<std::filesystem::path> find_images(const std::vector<std::string>& words);

/// Unlabelled images. Sizes are read when the list is made; a file that is no image is left out there and named by
/// broken_images(), as are those that turn out to be broken when they are read.
class ImageListData : public Dataset {
 public:
  ImageListData(const std::vector<std::filesystem::path>& files, const std::vector<std::string>& classes,
                const ImageLimits& limits = {});
  [[nodiscard]] const CrowdData& labels() const override { return labels_; }
  [[nodiscard]] cv::Mat image(std::int64_t index) const override;
  [[nodiscard]] std::vector<std::string> broken_images() const override;

 private:
  CrowdData labels_;
  ImageLimits limits_;
  std::vector<std::filesystem::path> files_;
  std::vector<std::string> broken_;
  mutable std::mutex mutex_;                             ///< images are read by several threads
  mutable std::map<std::int64_t, std::string> damaged_;  ///< what is wrong with images that could not be decoded
};

}  // namespace bdc::host
