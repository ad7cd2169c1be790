#include "data/image_list.h"

#include <glob.h>

#include <algorithm>
#include <cctype>

#include "bdc/base/error.h"

namespace bdc::host {
namespace fs = std::filesystem;
namespace {

bool has_image_extension(const fs::path& path) {
  std::string extension = path.extension().string();
  std::transform(extension.begin(), extension.end(), extension.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  static const char* const known[] = {".jpg", ".jpeg", ".png", ".tif", ".tiff",
                                      ".bmp", ".webp", ".pgm", ".ppm", ".pnm"};
  return std::any_of(std::begin(known), std::end(known), [&](const char* k) { return extension == k; });
}

void add_folder(const fs::path& folder, std::vector<fs::path>& out) {
  for (const auto& entry : fs::recursive_directory_iterator(folder, fs::directory_options::skip_permission_denied)) {
    std::error_code unreadable;  // a link that leads nowhere or in a circle is no image
    if (entry.is_regular_file(unreadable) && has_image_extension(entry.path())) out.push_back(entry.path());
  }
}

std::vector<fs::path> matches(const std::string& pattern) {
  glob_t found{};
  std::vector<fs::path> out;
  if (glob(pattern.c_str(), 0, nullptr, &found) == 0) {
    for (std::size_t n = 0; n < found.gl_pathc; ++n) out.emplace_back(found.gl_pathv[n]);
  }
  globfree(&found);
  return out;
}

}  // namespace

std::vector<fs::path> find_images(const std::vector<std::string>& words) {
  std::vector<fs::path> out;
  for (const std::string& word : words) {
    const std::size_t before = out.size();
    std::vector<fs::path> paths{word};
    std::error_code unreadable;
    if (!fs::exists(word, unreadable)) paths = matches(word);
    for (const fs::path& path : paths) {
      if (fs::is_directory(path, unreadable)) {
        add_folder(path, out);
      } else if (fs::is_regular_file(path, unreadable)) {
        out.push_back(path);
      }
    }
    if (out.size() == before) {
      throw DataError(word + (fs::is_directory(word, unreadable) ? ": no images in this folder"
                                                                 : ": no such image, folder or pattern"));
    }
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

ImageListData::ImageListData(const std::vector<fs::path>& files, const std::vector<std::string>& classes,
                             const ImageLimits& limits)
    : limits_(limits) {
  for (std::size_t j = 0; j < classes.size(); ++j) {
    ClassRecord record;
    record.id = {std::to_string(j + 1), true};
    record.name = classes[j];
    labels_.classes.push_back(std::move(record));
  }
  for (const fs::path& file : files) {
    try {
      const ImageHeader header = read_image_header(file, limits_);
      ImageRecord record;
      record.id = {std::to_string(files_.size() + 1), true};
      record.file = file.string();
      record.width = static_cast<int>(header.shown_width());
      record.height = static_cast<int>(header.shown_height());
      labels_.images.push_back(std::move(record));
      files_.push_back(file);
    } catch (const DataError& e) {
      broken_.emplace_back(e.what());
    }
  }
  labels_.finalize();
}

cv::Mat ImageListData::image(std::int64_t index) const {
  try {
    return read_image_file(files_[static_cast<std::size_t>(index)], limits_);
  } catch (const DataError& e) {
    const std::lock_guard<std::mutex> lock(mutex_);
    damaged_[index] = e.what();
    throw BrokenImage(e.what());
  }
}

std::vector<std::string> ImageListData::broken_images() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::vector<std::string> out = broken_;
  for (const auto& [index, what] : damaged_) out.push_back(what);
  return out;
}

}  // namespace bdc::host
