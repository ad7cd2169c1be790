#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace bdc {

/// Finds the pictures that lie beside label files. Every folder is listed once.
class Pictures {
 public:
  /// The picture of a label file: of the same name in its folder, or where the last folder "labels" or "Annotations" of
  /// its path is called "images" or "JPEGImages". Empty when there is none. in_any_folder: folders between "labels" and
  /// the file need not be there below "images", and "images" may stand one folder higher, as when they are annotators,
  /// or beside the file's folder or one of the two above it where none is called "labels".
  [[nodiscard]] std::string beside(const std::string& label_file, bool in_any_folder = false) const;
  /// {width, height} as a viewer shows it; nothing when the file is no picture.
  [[nodiscard]] static std::optional<std::pair<int, int>> size_of(const std::string& picture);

 private:
  /// Pictures of a folder by their names without extension; an empty path where several share one.
  [[nodiscard]] const std::unordered_map<std::string, std::string>& in_folder(const std::string& folder) const;

  mutable std::unordered_map<std::string, std::unordered_map<std::string, std::string>> folders_;
};

}  // namespace bdc
