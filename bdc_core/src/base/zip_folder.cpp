#include "base/zip_folder.h"

#include <sys/mman.h>
#include <unistd.h>
#include <zip.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <system_error>
#include <vector>

#include "bdc/base/error.h"
#include "bdc/base/text.h"

namespace bdc {
namespace fs = std::filesystem;

struct ZipFolder::Archive {
  zip_t* handle = nullptr;
  mutable std::mutex mutex;  // libzip's handles are not for several threads
  ~Archive() {
    if (handle != nullptr) zip_discard(handle);
  }
};

ZipFolder::ZipFolder(std::string path) : path_(std::move(path)), archive_(std::make_unique<Archive>()) {
  int code = 0;
  archive_->handle = zip_open(path_.c_str(), ZIP_RDONLY, &code);
  if (archive_->handle == nullptr) {
    zip_error_t error;
    zip_error_init_with_code(&error, code);
    const std::string why = zip_error_strerror(&error);
    zip_error_fini(&error);
    throw DataError(path_ + ": cannot be read as a zip file" +
                    (code == ZIP_ER_NOZIP ? ", although it begins as one; it may have been cut off, as by a broken "
                                            "download. Fetch or pack it again"
                                          : ": " + why));
  }
  const zip_int64_t entries = zip_get_num_entries(archive_->handle, 0);
  if (entries < 0 || static_cast<std::uint64_t>(entries) > max_entries) {
    throw DataError(path_ + ": expected a zip file of at most " + std::to_string(max_entries) + " entries, found more");
  }
  for (std::uint64_t n = 0; n < static_cast<std::uint64_t>(entries); ++n) add(n);
  std::uint64_t total = 0;
  for (const auto& [name, number] : files_) {
    zip_stat_t about;
    if (zip_stat_index(archive_->handle, number, 0, &about) != 0 || (about.valid & ZIP_STAT_SIZE) == 0) continue;
    total = about.size > max_bytes - std::min(total, max_bytes) ? max_bytes + 1 : total + about.size;
  }
  std::error_code ignored;
  const std::uint64_t packed = fs::file_size(path_, ignored);
  if (total > max_bytes || (total > 100 * small_bytes && total / max_ratio > packed)) {
    throw DataError(path_ + ": expected a zip file that unpacks to at most " + std::to_string(max_bytes >> 30) +
                    " GiB and " + std::to_string(max_ratio) +
                    " times its size, found more; unpack it yourself if you "
                    "trust it");
  }
}

ZipFolder::~ZipFolder() = default;

void ZipFolder::add(std::uint64_t number) {
  const char* raw = zip_get_name(archive_->handle, number, ZIP_FL_ENC_GUESS);
  std::string name = raw == nullptr ? std::string() : raw;
  const auto refuse = [&](const char* why) {
    throw DataError(path_ + ": the entry " + in_quotes(name) + " of this zip file " + why);
  };
  std::replace(name.begin(), name.end(), '\\', '/');
  if (name == "./") return;
  while (name.rfind("./", 0) == 0) name.erase(0, 2);  // as some programs name what is in the folder they pack
  const bool is_a_folder = !name.empty() && name.back() == '/';
  while (!name.empty() && name.back() == '/') name.pop_back();
  if (name.empty() || name.front() == '/' || (name.size() > 1 && name[1] == ':')) refuse("is not inside the archive");
  if (name.size() > 4096 || !is_utf8(name)) refuse("has no name that can be read");
  for (const fs::path& part : fs::path(name)) {
    if (part == ".." || part == ".") refuse("is not inside the archive");
  }
  for (std::size_t slash = name.find('/'); slash != std::string::npos; slash = name.find('/', slash + 1)) {
    folders_.insert(name.substr(0, slash));
  }
  if (is_a_folder) {
    folders_.insert(name);
  } else if (!files_.emplace(name, number).second) {
    refuse("is given twice");
  }
}

std::ifstream ZipFolder::open(const std::string& file) const {
  const std::lock_guard<std::mutex> lock(archive_->mutex);
  const auto found = files_.find(file);
  const std::string shown = path_ + "/" + printable(file);
  if (found == files_.end()) throw DataError(shown + ": no such file or folder");
  zip_stat_t about;
  if (zip_stat_index(archive_->handle, found->second, 0, &about) != 0) throw DataError(shown + ": cannot be read");
  if ((about.valid & ZIP_STAT_ENCRYPTION_METHOD) != 0 && about.encryption_method != ZIP_EM_NONE) {
    throw DataError(shown + ": is encrypted; unpack the zip file first");
  }
  if (about.size > max_bytes || (about.size > small_bytes && about.size / max_ratio > about.comp_size)) {
    throw DataError(shown + ": unpacks to more than " + std::to_string(max_ratio) +
                    " times its size; unpack it yourself if you trust it");
  }
  const auto close = [](zip_file_t* open_file) { zip_fclose(open_file); };
  const std::unique_ptr<zip_file_t, decltype(close)> in(zip_fopen_index(archive_->handle, found->second, 0), close);
  if (in == nullptr) throw DataError(shown + ": cannot be unpacked: " + zip_strerror(archive_->handle));
  const int memory = memfd_create("bdc", MFD_CLOEXEC);
  if (memory < 0) throw std::system_error(errno, std::generic_category(), shown + ": cannot be unpacked");
  const auto close_memory = [](const int* handle) { ::close(*handle); };
  const std::unique_ptr<const int, decltype(close_memory)> closing(&memory, close_memory);
  std::vector<char> block(1 << 16);
  std::uint64_t read = 0;
  for (;;) {
    const zip_int64_t count = zip_fread(in.get(), block.data(), block.size());
    if (count < 0) throw DataError(shown + ": is damaged: " + zip_file_strerror(in.get()));
    if (count == 0) break;
    read += static_cast<std::uint64_t>(count);
    if (read > about.size) throw DataError(shown + ": is damaged: it is larger than the archive says");
    for (zip_int64_t written = 0; written < count;) {
      const ssize_t part = ::write(memory, block.data() + written, static_cast<std::size_t>(count - written));
      if (part < 0) throw std::system_error(errno, std::generic_category(), shown + ": cannot be unpacked");
      written += part;
    }
  }
  if (read != about.size) throw DataError(shown + ": is damaged: it is smaller than the archive says");
  std::ifstream out("/proc/self/fd/" + std::to_string(memory), std::ios::binary);
  if (!out) throw DataError(shown + ": cannot be opened: " + std::strerror(errno));
  return out;
}

namespace {

bool is_zip_file(const fs::path& path) {
  if (lower_case(path.extension().string()) != ".zip") return false;
  std::error_code ignored;
  if (!fs::is_regular_file(path, ignored)) return false;
  std::ifstream in(path, std::ios::binary);
  char start[2] = {};
  return in.read(start, 2) && start[0] == 'P' && start[1] == 'K';
}

/// The part of the path that is an archive; empty: none.
fs::path archive_of(const std::string& path) {
  if (lower_case(path).find(".zip") == std::string::npos) return {};
  fs::path part = fs::path(path).lexically_normal();
  if (!part.has_filename()) part = part.parent_path();
  for (; part.has_relative_path(); part = part.parent_path()) {
    if (is_zip_file(part)) return part;
    if (part == part.parent_path()) break;
  }
  return {};
}

struct OpenArchive {
  std::uintmax_t size = 0;
  fs::file_time_type changed{};
  std::shared_ptr<const ZipFolder> folder;
};

}  // namespace

std::optional<ZipPath> zip_path(const std::string& path) {
  const fs::path archive = archive_of(path);
  if (archive.empty()) return std::nullopt;
  static std::mutex mutex;
  static std::map<std::string, OpenArchive> open_archives;
  constexpr std::size_t most_open = 64;
  std::error_code ignored;
  const std::uintmax_t size = fs::file_size(archive, ignored);
  const fs::file_time_type changed = fs::last_write_time(archive, ignored);
  const std::string key = fs::absolute(archive, ignored).string();
  const std::lock_guard<std::mutex> lock(mutex);
  const auto known = open_archives.find(key);
  std::shared_ptr<const ZipFolder> folder;
  if (known != open_archives.end() && known->second.size == size && known->second.changed == changed) {
    folder = known->second.folder;
  } else {
    folder = std::make_shared<ZipFolder>(archive.string());
    if (open_archives.size() >= most_open) open_archives.clear();
    open_archives[key] = {size, changed, folder};
  }
  std::string inside = fs::path(path).lexically_normal().lexically_relative(archive).generic_string();
  if (inside == ".") inside.clear();
  while (!inside.empty() && inside.back() == '/') inside.pop_back();
  return ZipPath{std::move(folder), std::move(inside)};
}

std::string up_to_zip(const std::string& path) {
  const fs::path archive = archive_of(path);
  return archive.empty() ? path : archive.string();
}

}  // namespace bdc
