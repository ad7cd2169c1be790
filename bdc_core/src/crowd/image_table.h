#pragma once

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "crowd/id_table.h"

namespace bdc {

/// What a CSV `image,width,height[,id,label]` says of images. Also understood: image_id or file_name for image, dim1
/// and dim0 for width and height (VinDr-CXR); without a heading row the columns are image, width, height. An empty or
/// zero size is unknown. label: the name of the image's label files, without extension, where it does not follow from
/// the image's name; with that column `image` may be empty.
class ImageTable {
 public:
  struct Row {
    std::string image;           ///< a file name, a path or an id
    std::optional<RecordId> id;  ///< when the file has that column
    std::string label;           ///< when the file has that column
    std::int64_t width = 0, height = 0;
    std::size_t line = 0;
  };

  ImageTable() = default;
  /// Throws DataError "file:line: ..." for a row that cannot be understood or an image that is given twice.
  ImageTable(std::istream& in, const std::string& name);

  /// The row of an image by its label, when the table has that column; otherwise by its path, path without extension,
  /// file name or file name without extension (the first of these that identifies one row); null when there is none.
  [[nodiscard]] const Row* find(std::string_view image) const;
  /// The id of a row's image: its own, or else its file name without extension, with folders where names alone repeat.
  [[nodiscard]] RecordId id_of(const Row& row) const;
  [[nodiscard]] const std::vector<Row>& rows() const { return rows_; }
  [[nodiscard]] const std::string& name() const { return name_; }

 private:
  void add_key(const std::string& key, std::size_t row);

  std::string name_;
  std::vector<Row> rows_;
  bool by_label_ = false;
  bool names_repeat_ = false;
  std::unordered_map<std::string, std::int64_t> keys_;  // -1: shared by several rows
};

/// Sizes of the image files below a folder as a viewer shows them, read when asked for.
class ImageFolder {
 public:
  ImageFolder() = default;
  explicit ImageFolder(const std::string& folder);
  /// By file name, or file name without extension. Nothing when there is no such image or it cannot be read.
  [[nodiscard]] std::optional<std::pair<int, int>> size_of(std::string_view image) const;
  /// The path below the folder; empty when there is no such image.
  [[nodiscard]] std::string path_of(std::string_view image) const;

 private:
  std::string folder_;
  std::unordered_map<std::string, std::string> files_;
};

/// Class names from classes.txt (one per line, blank lines at the end ignored) or from the `names` of a YOLO data.yaml
/// (a list in brackets, a list of dashes, or "0: name" lines). Throws DataError "file:line: ...".
[[nodiscard]] std::vector<std::string> read_class_names(std::istream& in, const std::string& name);

}  // namespace bdc
