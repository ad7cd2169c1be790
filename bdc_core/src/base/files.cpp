#include "base/files.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/zip_folder.h"
#include "bdc/base/error.h"
#include "bdc/base/text.h"

namespace bdc {
namespace fs = std::filesystem;
namespace {

bool hidden(const fs::path& path) {
  return path.filename().string().rfind('.', 0) == 0;
}

/// Entries whose kind cannot be told, such as a link that leads to itself, are neither files nor folders.
bool is_file(const fs::directory_entry& entry) {
  std::error_code error;
  return entry.is_regular_file(error);
}

bool is_folder(const fs::directory_entry& entry) {
  std::error_code error;
  return entry.is_directory(error);
}

/// A link to nothing counts as a file: whoever opens it says so, and no label is passed over without a word.
bool is_dead_link(const fs::directory_entry& entry) {
  std::error_code error;
  return entry.status(error).type() == fs::file_type::not_found && entry.is_symlink(error);
}

/// Files of a folder whose extensions are wanted.
class MatchingFiles {
 public:
  MatchingFiles(const fs::path& folder, std::initializer_list<std::string_view> extensions, bool in_folders)
      : extensions_(extensions), in_folders_(in_folders) {
    if (in_folders) above_.push_back(fs::canonical(folder));
    add(folder);
    std::sort(found_.begin(), found_.end());
  }
  [[nodiscard]] std::vector<std::string> take() { return std::move(found_); }

 private:
  void add(const fs::path& folder) {
    for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
      if (hidden(entry.path())) continue;
      if (is_folder(entry)) {
        if (in_folders_) add_folder(entry);
        continue;
      }
      const std::string extension = lower_case(entry.path().extension().string());
      const bool wanted =
          extensions_.empty() || std::find(extensions_.begin(), extensions_.end(), extension) != extensions_.end();
      if (wanted && (is_file(entry) || is_dead_link(entry))) found_.push_back(entry.path().string());
    }
  }

  /// A folder behind a link is another place of it, unless its files are met in this walk anyway.
  void add_folder(const fs::directory_entry& entry) {
    fs::path real = above_.back() / entry.path().filename();
    if (entry.is_symlink()) {
      real = fs::canonical(entry.path());
      if (is_within(real, above_.front())) return;
    }
    if (std::find(above_.begin(), above_.end(), real) != above_.end()) return;
    above_.push_back(std::move(real));
    add(entry.path());
    above_.pop_back();
  }

  static bool is_within(const fs::path& path, const fs::path& folder) {
    return std::mismatch(folder.begin(), folder.end(), path.begin(), path.end()).first == folder.end();
  }

  std::vector<std::string_view> extensions_;
  bool in_folders_;
  std::vector<fs::path> above_;  ///< where the folders from the first one to the one being read really are
  std::vector<std::string> found_;
};

/// What list() finds in a folder; a DataError where the folder, or one in it, cannot be read.
template <class List>
std::vector<std::string> readable(const std::string& folder, const List& list) {
  try {
    return list();
  } catch (const fs::filesystem_error& error) {
    const std::string where = error.path1().empty() ? folder : error.path1().string();
    throw DataError(where + ": the folder cannot be read: " + error.code().message());
  }
}

/// The rest of a name inside an archive that is below the folder; empty when it is not.
std::string below_folder(const std::string& name, const std::string& folder) {
  if (folder.empty()) return name;
  if (name.size() <= folder.size() + 1 || name.compare(0, folder.size(), folder) != 0 || name[folder.size()] != '/')
    return {};
  return name.substr(folder.size() + 1);
}

/// Files of a folder in an archive. Hidden ones, and what macOS adds to archives, are left out.
std::vector<std::string> files_of(const ZipPath& zip, const std::string& folder,
                                  std::initializer_list<std::string_view> extensions, bool in_folders) {
  std::vector<std::string> found;
  for (const auto& [name, number] : zip.archive->files()) {
    const std::string below = below_folder(name, zip.inside);
    if (below.empty() || (!in_folders && below.find('/') != std::string::npos)) continue;
    if (below.front() == '.' || below.find("/.") != std::string::npos || below.rfind("__MACOSX/", 0) == 0) continue;
    const std::string extension = lower_case(fs::path(below).extension().string());
    const bool wanted =
        extensions.size() == 0 || std::find(extensions.begin(), extensions.end(), extension) != extensions.end();
    if (wanted) found.push_back(join(folder, below));
  }
  return found;
}

bool must_escape(std::string_view text, std::size_t i) {
  const auto c = static_cast<unsigned char>(text[i]);
  return c < 0x20 || c == 0x7F || c == '/' || c == '\\' || c == '%' || (c == '.' && i == 0);
}

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

void require_exists(const std::string& path) {
  std::error_code error;
  if (fs::exists(path, error) || is_regular_file(path) || is_folder(path)) return;  // the latter inside a zip file
  if (fs::is_symlink(path, error)) throw DataError(path + ": is a link to a file or folder that does not exist");
  throw DataError(path + ": no such file or folder");
}

std::ifstream open_input(const std::string& path) {
  require_exists(path);
  if (is_folder(path)) throw DataError(path + ": expected a file, found a folder");
  if (const auto zip = zip_path(path)) return zip->archive->open(zip->inside);
  errno = 0;
  std::ifstream in(path, std::ios::binary);
  if (!in) throw DataError(path + ": cannot be opened: " + std::strerror(errno));
  return in;
}

std::string read_all(std::istream& in, const std::string& name, std::size_t limit) {
  std::string text;
  char block[1 << 16];
  while (in) {
    in.read(block, sizeof(block));
    text.append(block, static_cast<std::size_t>(in.gcount()));
    if (text.size() > limit) {
      throw DataError(name + ": expected a file of at most " + std::to_string(limit >> 20) +
                      " MiB, found a larger one");
    }
  }
  if (in.bad()) throw DataError(name + ": cannot be read (input error)");
  return text;
}

int first_character(std::istream& in) {
  if ((in >> std::ws).peek() != 0xEF) return in.peek();
  char mark[3] = {};
  in.read(mark, 3);
  if (without_byte_order_mark(std::string_view(mark, 3)).empty()) return (in >> std::ws).peek();
  in.clear();
  in.seekg(-static_cast<std::streamoff>(in.gcount()), std::ios::cur);
  return in.peek();
}

bool is_regular_file(const std::string& path) {
  if (const auto zip = zip_path(path)) return zip->archive->files().count(zip->inside) > 0;
  std::error_code error;
  return fs::is_regular_file(path, error);
}

bool is_folder(const std::string& path) {
  if (const auto zip = zip_path(path)) return zip->inside.empty() || zip->archive->folders().count(zip->inside) > 0;
  std::error_code error;
  return fs::is_directory(path, error);
}

std::string file_stem(std::string_view path) {
  return fs::path(path).stem().string();
}

std::string without_extension(std::string_view path) {
  const fs::path full(path);
  return (full.parent_path() / full.stem()).string();
}

std::string parent_name(const std::string& path) {
  std::error_code error;
  return fs::absolute(path, error).parent_path().filename().string();
}

std::string folder_name(const std::string& path) {
  std::error_code error;
  fs::path full = fs::absolute(path, error).lexically_normal();
  if (!full.has_filename()) full = full.parent_path();
  return full.filename().string();
}

std::string join(const std::string& folder, const std::string& entry) {
  return (fs::path(folder) / entry).string();
}

std::vector<std::string> files_below(const std::string& folder, std::initializer_list<std::string_view> extensions) {
  if (const auto zip = zip_path(folder)) return files_of(*zip, folder, extensions, true);
  return readable(folder, [&] { return MatchingFiles(folder, extensions, true).take(); });
}

std::vector<std::string> files_in(const std::string& folder, std::initializer_list<std::string_view> extensions) {
  if (const auto zip = zip_path(folder)) return files_of(*zip, folder, extensions, false);
  return readable(folder, [&] { return MatchingFiles(folder, extensions, false).take(); });
}

std::vector<std::string> folders_in(const std::string& folder) {
  std::vector<std::string> found;
  if (const auto zip = zip_path(folder)) {
    for (const std::string& name : zip->archive->folders()) {
      const std::string below = below_folder(name, zip->inside);
      if (!below.empty() && below.find('/') == std::string::npos && below.front() != '.')
        found.push_back(join(folder, below));
    }
    return found;
  }
  return readable(folder, [&] {
    for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
      if (is_folder(entry) && !hidden(entry.path())) found.push_back(entry.path().string());
    }
    std::sort(found.begin(), found.end());
    return found;
  });
}

std::string to_file_name(std::string_view text) {
  static constexpr char digits[] = "0123456789ABCDEF";
  std::string name;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (must_escape(text, i)) {
      name += '%';
      name += digits[c >> 4];
      name += digits[c & 15];
    } else {
      name += text[i];
    }
  }
  return name;
}

std::string from_file_name(std::string_view name) {
  std::string text;
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (name[i] == '%' && i + 2 < name.size()) {
      const int high = hex_value(name[i + 1]), low = hex_value(name[i + 2]);
      if (high >= 0 && low >= 0) {
        const char c = static_cast<char>(high * 16 + low);
        const char alone[1] = {c};
        if (must_escape({alone, 1}, 0) && (c != '.' || i == 0)) {
          text += c;
          i += 2;
          continue;
        }
      }
    }
    text += name[i];
  }
  return text;
}

}  // namespace bdc
