#pragma once

#include <fstream>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "bdc/base/json_stream.h"
#include "bdc/crowd/crowd_data.h"

/// The files of Datumaro and FiftyOne, image by image: a crowd writes one per annotator, a consensus one in all.
namespace bdc {

/// What these programs call an image: its file's name without the extension, or the id where it has none. Different for
/// different images.
[[nodiscard]] std::vector<std::string> item_names(const CrowdData& data);

/// sizes.csv of images that are called so.
void write_item_sizes(const std::string& path, const CrowdData& data, const std::vector<std::string>& names);

/// An image that somebody saw, and what they drew there.
struct SeenImage {
  std::size_t image = 0;
  std::vector<std::size_t> annotations;
};
/// Makes a folder in `folder` for every annotator who saw images, and calls back with it and with these images in their
/// order. False when nobody saw any.
[[nodiscard]] bool write_by_annotator(
    const CrowdData& data, const std::string& folder,
    const std::function<void(const std::string& own_folder, const std::vector<SeenImage>& images)>& write);

/// A JSON file inside an AtomicFolder. Throws std::system_error.
class ItemFile {
 public:
  explicit ItemFile(const std::string& path);

 protected:
  void close();

 private:
  std::string path_;
  std::ofstream out_;

 protected:
  JsonWriter json_;
};

/// labels.json of a FiftyOneImageDetectionDataset.
class FiftyOneLabels : ItemFile {
 public:
  FiftyOneLabels(const std::string& path, const CrowdData& data);
  void begin_image(const std::string& name);
  /// False, and nothing is written, for an image without a size: boxes are shares of it.
  [[nodiscard]] bool box(const ImageRecord& image, const Box& box, std::int32_t label,
                         std::optional<double> confidence);
  void end_image();
  void finish();

 private:
  const CrowdData& data_;
};

/// annotations/default.json of a Datumaro data set.
class DatumaroItems : ItemFile {
 public:
  DatumaroItems(const std::string& path, const CrowdData& data);
  void begin_image(const std::string& name);
  void box(const Box& box, std::int32_t label, std::optional<double> score);
  void end_image(const ImageRecord& image);
  void finish();

 private:
  std::int64_t next_ = 0;
};

}  // namespace bdc
