#pragma once

#include <string>
#include <vector>

#include "crowd/data_yaml.h"
#include "crowd/format.h"

namespace bdc {

/// A picture that a data.yaml names, and where its labels are looked for.
struct ListedPicture {
  std::string picture, label_file;
};

/// The pictures of a data.yaml: of one split, or of all when `split` is empty. A place is a folder, a picture, or a
/// text file with a picture per line; it is looked for relative to `path`, to the file's own folder and to the working
/// folder, and in the file's folder without leading "../". Throws DataError with every place that was tried, and when a
/// split has no picture or no label file at all. A label file is where the last folder "images" of a picture's path is
/// called "labels", or else beside the picture.
[[nodiscard]] std::vector<ListedPicture> listed_pictures(const DataYaml& yaml, const std::string& file,
                                                         const std::string& split, ReadContext& context);

/// Where a place that a data.yaml names is, looked for in the same way. `what` is the member that names it.
[[nodiscard]] std::string listed_place(const DataYaml& yaml, const std::string& file, const std::string& place,
                                       const std::string& what, ReadContext& context);

}  // namespace bdc
