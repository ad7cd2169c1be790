#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "bdc/crowd/picture_name.h"
#include "crowd/id_table.h"

namespace bdc {

/// A record of one of several files that number their images or classes on their own.
struct NamedRecord {
  std::string name;          ///< an image's file name or a class's name; empty: it has none
  RecordId id;               ///< in its own file
  std::uint32_t source = 0;  ///< the file
  std::int32_t who = -1;     ///< the one who drew in all images of the file; -1: several, or not known
};

/// For each record the first one that is the same thing, which is itself where there is none. Records of one source are
/// different things.
///
/// Images are the same when their file names are, with their folders as far as both have them; \ is /, and the prefix
/// that Label Studio gives to uploads does not count. An image without a name is the one of its id. `ambiguous(n, m)`
/// is called when record n may be several, m among them; n is then a thing of its own.
using Ambiguous = std::function<void(std::size_t record, std::size_t other)>;
[[nodiscard]] std::vector<std::size_t> same_images(const std::vector<NamedRecord>& images, const Ambiguous& ambiguous);

/// Ties images that are versions of one picture: Roboflow gives every export's pictures a name of its own
/// (cat_jpg.rf.<hash>.jpg). Only pictures of different annotators are tied, and only where no annotator has two
/// versions of one. same: from same_images. Returns how many were tied.
std::size_t tie_versions(const std::vector<NamedRecord>& images, std::vector<std::size_t>& same);

/// The name that a picture had before Roboflow exported it, without folders: "cat.jpg" of "train/cat_jpg.rf.<hash>.jpg"
/// (or without the extension); empty for other names.
[[nodiscard]] std::string before_roboflow(const std::string& name);

/// Classes are the same when their names are; a class without a name is the one of its id.
[[nodiscard]] std::vector<std::size_t> same_classes(const std::vector<NamedRecord>& classes);

}  // namespace bdc
