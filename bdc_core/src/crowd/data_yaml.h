#pragma once

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

namespace bdc {

/// A data set's description as YOLOv5 to v11, Roboflow and Ultralytics write it (data.yaml). What it says of anything
/// else is passed over.
struct DataYaml {
  /// Which images belong together: folders, files that list images, or images, as the file names them.
  struct Split {
    std::string name;  ///< "train", "val" or "test"
    std::vector<std::string> places;
    std::size_t line = 0;
  };
  std::string path;                ///< the folder that the places are relative to; empty: not given
  std::vector<Split> splits;       ///< those that name a place, in the order train, val, test
  std::vector<std::string> names;  ///< of the classes, by number
  bool has_names = false;
  std::size_t key_numbers = 0;  ///< how many numbers of key points follow each box (kpt_shape)
  /// The crowd's layout of BDC's authors: places are folders of text labels, their pictures lie in image_dir, and there
  /// are so many annotators.
  std::string image_dir;
  std::optional<std::int64_t> num_annotators;
  [[nodiscard]] bool is_crowds() const { return !image_dir.empty() || num_annotators.has_value(); }
};

/// Throws DataError "file:line: ..." for text that is not YAML and for members that mean nothing.
[[nodiscard]] DataYaml read_data_yaml(std::istream& in, const std::string& name);

/// Whether a file is such a description in the layout of BDC's authors; false for whatever cannot be read.
[[nodiscard]] bool is_crowds_yaml(const std::string& path);

/// Whether a file is called like one: it ends in .yaml or .yml.
[[nodiscard]] bool is_yaml_name(const std::string& path);

}  // namespace bdc
