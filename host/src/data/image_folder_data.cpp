#include "data/image_folder_data.h"

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <unordered_map>

#include "bdc/base/parallel.h"
#include "bdc/base/text.h"
#include "bdc/crowd/picture_name.h"
#include "data/subset_data.h"

namespace bdc::host {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t kNamesShown = 5;

/// "3 images are missing: a.jpg, b.jpg, c.jpg"; "... and 12 more" after the first few.
std::string counted(const std::vector<std::string>& names, const std::string& what) {
  std::string out = std::to_string(names.size()) + (names.size() == 1 ? " image " : " images ") + what + ": ";
  for (std::size_t i = 0; i < std::min(names.size(), kNamesShown); ++i) out += (i ? "; " : "") + names[i];
  if (names.size() > kNamesShown) out += "; and " + std::to_string(names.size() - kNamesShown) + " more";
  return out;
}

/// Label files are called like their pictures, and may lie in the folder, too.
bool is_label_file(const fs::path& path) {
  const std::string extension = lower_case(path.extension().string());
  for (const char* known : {".xml", ".txt", ".json", ".csv", ".tsv", ".yaml", ".yml", ".npy", ".npz"}) {
    if (extension == known) return true;
  }
  return false;
}

/// Where the picture of an image is.
struct Found {
  std::optional<fs::path> file;
  std::string several;  ///< when several files have the name: two of them, "a/x.jpg, b/x.jpg"
};

/// Finds pictures below a folder by the names that labels use. The folder is walked through once, when a path does not
/// lead to a file directly.
class FileFinder {
 public:
  explicit FileFinder(fs::path folder) : folder_(std::move(folder)) {}

  /// No file when there is none or its name alone fits several. Throws DataError when the path leaves the folder.
  Found find(const ImageRecord& image) {
    const std::string& text = image.file.empty() ? image.id.text : image.file;
    if (text.empty() || text.find('\0') != std::string::npos) return {};
    const fs::path given = fs::path(text).lexically_normal();
    if (!given.empty() && *given.begin() == "..") {
      throw DataError("image " + printable(image.id.text) + ": its file '" + printable(text) +
                      "' lies outside the image folder " + folder_.string());
    }
    std::error_code error;
    if (given.is_relative() && fs::is_regular_file(folder_ / given, error)) return {folder_ / given, ""};
    index();
    // As the labelling program calls it, then as the picture was called before it was uploaded there.
    const fs::path before = comparable_path(text);
    for (const std::string& name :
         {given.filename().string(), given.stem().string(), before.filename().string(), before.stem().string()}) {
      const auto hit = by_name_.find(name);
      if (hit == by_name_.end()) continue;
      const auto& [first, second] = hit->second;
      if (second.empty()) return {first, ""};
      return {std::nullopt, printable(shown(first)) + ", " + printable(shown(second))};
    }
    return {};
  }

 private:
  /// The two files of a name that come first in the alphabet; the second is empty when there is one only.
  struct Files {
    fs::path first, second;
  };

  [[nodiscard]] std::string shown(const fs::path& file) const { return file.lexically_relative(folder_).string(); }
  void index() {
    if (indexed_) return;
    indexed_ = true;
    std::error_code error;
    fs::recursive_directory_iterator at(folder_, fs::directory_options::skip_permission_denied, error), end;
    for (; !error && at != end; at.increment(error)) {
      std::error_code ignored;
      if (!at->is_regular_file(ignored)) continue;
      const fs::path& path = at->path();
      if (is_label_file(path)) continue;
      add(path.filename().string(), path);
      if (path.stem() != path.filename()) add(path.stem().string(), path);
    }
  }
  void add(const std::string& name, const fs::path& path) {
    const auto [at, is_new] = by_name_.try_emplace(name, Files{path, {}});
    Files& files = at->second;
    if (is_new || path == files.first) return;
    if (files.second.empty() || path < files.second) files.second = path;
    if (files.second < files.first) std::swap(files.first, files.second);
  }

  fs::path folder_;
  bool indexed_ = false;
  std::unordered_map<std::string, Files> by_name_;
};

std::string name_of(const ImageRecord& image) {
  return printable(image.file.empty() ? image.id.text : image.file);
}

std::string size_text(std::int64_t width, std::int64_t height) {
  return std::to_string(width) + "x" + std::to_string(height);
}

/// What the header of a file says, or what is wrong with it.
struct Looked {
  std::optional<ImageHeader> header;
  std::string problem;
};

std::vector<Looked> look_at(const std::vector<Found>& files, const ImageLimits& limits) {
  std::vector<Looked> out(files.size());
  parallel_chunks(files.size(), 64, 0, [&](std::size_t begin, std::size_t end, std::size_t) {
    for (std::size_t i = begin; i < end; ++i) {
      if (!files[i].file) continue;
      try {
        out[i].header = read_image_header(*files[i].file, limits);
      } catch (const DataError& e) {
        out[i].problem = e.what();
      }
    }
  });
  return out;
}

}  // namespace

ImageFolderData::ImageFolderData(const CrowdData& labels, const ImageFolderSettings& settings) : settings_(settings) {
  const std::string folder = settings.folder.string();
  std::error_code error;
  if (!fs::is_directory(settings.folder, error)) {
    throw DataError((folder.empty() ? "(empty)" : folder) + ": no such image folder (" + settings.named_by + ")");
  }
  if (labels.images.empty()) throw DataError("the labels list no images");
  FileFinder finder(settings.folder);
  std::vector<Found> found;
  for (const auto& image : labels.images) found.push_back(finder.find(image));
  const auto looked = look_at(found, settings.limits);

  std::vector<std::string> missing, several, unreadable, different;
  std::vector<std::int64_t> kept;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const ImageRecord& image = labels.images[i];
    if (!found[i].several.empty()) {
      several.push_back(name_of(image) + " (" + found[i].several + ")");
    } else if (!found[i].file) {
      missing.push_back(name_of(image));
    } else if (!looked[i].header) {
      unreadable.push_back(looked[i].problem);
    } else {
      const auto width = looked[i].header->shown_width(), height = looked[i].header->shown_height();
      if (image.width > 0 && image.height > 0 && (image.width != width || image.height != height)) {
        different.push_back(name_of(image) + " is " + size_text(width, height) + " in the file and " +
                            size_text(image.width, image.height) + " in the labels");
      }
      kept.push_back(static_cast<std::int64_t>(i));
      files_.push_back(*found[i].file);
    }
  }
  if (!different.empty()) {
    throw DataError(
        folder + ": " + counted(different, "differ in size") +
        "\n  advice: boxes are pixels of the picture as viewers show it (EXIF orientation applied); use the "
        "pictures that were annotated");
  }
  const std::string left_out = settings.strict ? "" : ", left out";
  if (!missing.empty()) warnings_.push_back(folder + ": " + counted(missing, "of the labels not found" + left_out));
  if (!several.empty()) {
    const char* what = settings.strict ? "of the labels match several files"
                                       : "of the labels left out, as several files have that name";
    warnings_.push_back(folder + ": " + counted(several, what) + "\n  advice: give their folders in the labels");
  }
  if (!unreadable.empty()) warnings_.push_back(folder + ": " + counted(unreadable, "cannot be read" + left_out));
  if (kept.empty() || (settings.strict && !warnings_.empty())) {
    throw DataError(
        join(warnings_, "\n") + "\n  " +
        (kept.empty() ? "no images left; is " + settings.named_by + " the right folder?" : settings.why_strict));
  }
  labels_ = select_images(labels, kept);
  for (std::size_t n = 0; n < kept.size(); ++n) {
    const auto& header = *looked[static_cast<std::size_t>(kept[n])].header;
    labels_.images[n].width = static_cast<int>(header.shown_width());
    labels_.images[n].height = static_cast<int>(header.shown_height());
  }
}

const fs::path& ImageFolderData::file(std::int64_t index) const {
  if (index < 0 || index >= size()) throw std::out_of_range("no image " + std::to_string(index));
  return files_[static_cast<std::size_t>(index)];
}

cv::Mat ImageFolderData::image(std::int64_t index) const {
  const fs::path& path = file(index);
  try {
    const cv::Mat out = read_image_file(path, settings_.limits);
    const ImageRecord& record = labels_.images[static_cast<std::size_t>(index)];
    if (out.cols != record.width || out.rows != record.height) {
      throw DataError(path.string() + ": is " + size_text(out.cols, out.rows) + " now, but was " +
                      size_text(record.width, record.height) + " when the run began");
    }
    return out;
  } catch (const DataError& e) {
    if (settings_.strict) throw;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      broken_.emplace(index, e.what());
    }
    throw BrokenImage(e.what());
  }
}

std::vector<std::string> ImageFolderData::broken_images() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::vector<std::string> out;
  for (const auto& [index, message] : broken_) out.push_back(message);
  return out;
}

}  // namespace bdc::host
