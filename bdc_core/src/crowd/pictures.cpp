#include "crowd/pictures.h"

#include <filesystem>
#include <fstream>

#include "base/files.h"
#include "bdc/base/image_header.h"

namespace bdc {

namespace fs = std::filesystem;

const std::unordered_map<std::string, std::string>& Pictures::in_folder(const std::string& folder) const {
  const auto [entry, is_new] = folders_.try_emplace(folder);
  if (is_new && is_folder(folder)) {
    for (const std::string& file : files_in(folder, {".png", ".jpg", ".jpeg", ".webp", ".bmp", ".tif", ".tiff"})) {
      const auto [at, is_first] = entry->second.try_emplace(file_stem(file), file);
      if (!is_first) at->second.clear();
    }
  }
  return entry->second;
}

std::string Pictures::beside(const std::string& label_file, bool in_any_folder) const {
  const fs::path path(label_file);
  const std::string stem = path.stem().string();
  const auto in = [&](const fs::path& folder) {
    const auto& files = in_folder(folder.empty() ? "." : folder.string());
    const auto found = files.find(stem);
    return found == files.end() ? std::string() : found->second;
  };
  for (const auto& [labels, images] : {std::pair("labels", "images"), std::pair("Annotations", "JPEGImages"),
                                       std::pair("Annotations", "images"), std::pair("annotations", "images")}) {
    fs::path below, above = path.parent_path();
    while (above.has_filename() && above.filename() != labels) {
      below = above.filename() / below;
      above = above.parent_path();
    }
    if (above.filename() != labels) continue;
    for (;;) {
      for (const fs::path& place : {above.parent_path(), above.parent_path().parent_path()}) {
        fs::path folder = place / images;
        if (!below.empty()) folder /= below;
        if (std::string found = in(folder.lexically_normal()); !found.empty()) return found;
        if (!in_any_folder) break;
      }
      if (!in_any_folder || below.empty()) break;
      fs::path shorter;
      for (auto part = std::next(below.begin()); part != below.end(); ++part) shorter /= *part;
      below = shorter;
    }
  }
  if (std::string found = in(path.parent_path()); !found.empty() || !in_any_folder) return found;
  // images/ beside the annotators' folders: of ann/street/1.txt images/street/1.jpg or images/1.jpg.
  fs::path below, above = path.parent_path();
  for (int height = 0; height < 3 && above.has_filename(); ++height) {
    for (fs::path inside = below;;) {
      const fs::path folder = above.parent_path() / "images" / inside;
      if (std::string found = in(folder.lexically_normal()); !found.empty()) return found;
      if (inside.empty()) break;
      fs::path shorter;
      for (auto part = std::next(inside.begin()); part != inside.end(); ++part) shorter /= *part;
      inside = shorter;
    }
    below = above.filename() / below;
    above = above.parent_path();
  }
  return {};
}

std::optional<std::pair<int, int>> Pictures::size_of(const std::string& picture) {
  if (!is_regular_file(picture)) return std::nullopt;  // a link to nothing
  std::ifstream in = open_input(picture);
  const auto header = read_image_header(in);
  if (!header) return std::nullopt;
  return std::pair{static_cast<int>(header->shown_width()), static_cast<int>(header->shown_height())};
}

}  // namespace bdc
