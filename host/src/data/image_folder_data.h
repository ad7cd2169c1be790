#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "data/image_file.h"

namespace bdc::host {

struct ImageFolderSettings {
  std::filesystem::path folder;
  /// An image that is missing or broken stops the run; otherwise it is left out and named.
  bool strict = false;
  ImageLimits limits;
  std::string named_by = "data.images";  ///< what the user named the folder with, for messages
  std::string why_strict = "data.strict is on, so the run stops here";
};

/// Labels with the pictures in a folder.
///
/// A file is found by the path in the labels, below the folder; failing that by its name, or its name without
/// extension, anywhere below the folder (labels of several tools hold ids or the paths of a server). A path that leads
/// out of the folder ("../x") is refused.
///
/// All files are looked at when the data set is made (headers only): those that are missing or are no images leave the
/// data set, and warnings() says which. Boxes are pixels of the picture as it is shown (EXIF orientation applied), so a
/// size that differs from the labels' is an error. Images without a size in the labels get it from the file.
class ImageFolderData : public Dataset {
 public:
  /// Throws DataError: no such folder, a path that leaves it, a size that differs, no image at all, and, when strict,
  /// any image that is missing or broken.
  ImageFolderData(const CrowdData& labels, const ImageFolderSettings& settings);

  /// Only the images that are there.
  [[nodiscard]] const CrowdData& labels() const override { return labels_; }
  /// Throws BrokenImage (strict: DataError) when the file cannot be decoded.
  [[nodiscard]] cv::Mat image(std::int64_t index) const override;
  [[nodiscard]] std::vector<std::string> broken_images() const override;

  /// What was left out at the start: how many and the first names, for the console.
  [[nodiscard]] const std::vector<std::string>& warnings() const { return warnings_; }
  [[nodiscard]] const std::filesystem::path& file(std::int64_t index) const;

 private:
  ImageFolderSettings settings_;
  CrowdData labels_;
  std::vector<std::filesystem::path> files_;  // one per image
  std::vector<std::string> warnings_;
  mutable std::mutex mutex_;
  mutable std::map<std::int64_t, std::string> broken_;
};

}  // namespace bdc::host
