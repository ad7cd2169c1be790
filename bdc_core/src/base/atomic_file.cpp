#include "bdc/base/atomic_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <set>
#include <streambuf>
#include <system_error>
#include <vector>

#include "bdc/base/error.h"
#include "bdc/base/user_error.h"

namespace bdc {
namespace fs = std::filesystem;
namespace {

[[noreturn]] void fail(const std::string& path, const char* what) {
  throw std::system_error(errno, std::generic_category(), path + ": " + what);
}

std::string folder_of(const std::string& path) {
  const std::string folder = fs::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

/// A name in the same folder that no other writer uses: <folder>/.<name>.XXXXXX, for mkstemp and mkdtemp.
std::string temporary_pattern(const std::string& path) {
  return (fs::path(folder_of(path)) / ("." + fs::path(path).filename().string() + ".XXXXXX")).string();
}

void sync_folder(const std::string& folder) {
  const int fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  ::fsync(fd);
  ::close(fd);
}

/// Temporary files and folders of this process. Never destroyed: a thread may ask for it while the process ends.
struct Unfinished {
  std::mutex mutex;
  std::set<std::string> paths;
};
Unfinished& unfinished() {
  static auto* const all = new Unfinished;
  return *all;
}

/// Makes a temporary by `make`, which returns its path or "", and remembers it.
template <class Make>
std::string begin_temporary(const Make& make) {
  const std::lock_guard<std::mutex> lock(unfinished().mutex);
  std::string path = make();
  if (!path.empty()) unfinished().paths.insert(path);
  return path;
}

void forget_temporary(const std::string& path) {
  const std::lock_guard<std::mutex> lock(unfinished().mutex);
  unfinished().paths.erase(path);
}

/// Writes to a file descriptor; remembers the first error so that commit can report it.
class DescriptorBuffer : public std::streambuf {
 public:
  explicit DescriptorBuffer(int fd) : fd_(fd), buffer_(std::size_t{1} << 18) { reset(); }
  [[nodiscard]] int error() const { return error_; }

 protected:
  int_type overflow(int_type c) override {
    if (sync() != 0) return traits_type::eof();
    if (!traits_type::eq_int_type(c, traits_type::eof())) {
      *pptr() = traits_type::to_char_type(c);
      pbump(1);
    }
    return traits_type::not_eof(c);
  }
  int sync() override {
    const char* p = pbase();
    while (error_ == 0 && p != pptr()) {
      const ssize_t n = ::write(fd_, p, static_cast<std::size_t>(pptr() - p));
      if (n >= 0) {
        p += n;
      } else if (errno != EINTR) {
        error_ = errno;
      }
    }
    reset();
    return error_ == 0 ? 0 : -1;
  }

 private:
  void reset() { setp(buffer_.data(), buffer_.data() + buffer_.size()); }
  int fd_;
  int error_ = 0;
  std::vector<char> buffer_;
};

}  // namespace

struct AtomicFile::Impl {
  std::string path;
  int fd = -1;
  bool is_direct = false;  // a device or pipe: written as it is, there is nothing to replace
  std::string temporary;   // empty: the file has no name yet (O_TMPFILE), so a killed process leaves nothing
  std::unique_ptr<DescriptorBuffer> buffer;
  std::unique_ptr<std::ostream> stream;

  ~Impl() {
    if (fd >= 0) ::close(fd);
    if (temporary.empty()) return;
    ::unlink(temporary.c_str());
    forget_temporary(temporary);
  }

  /// Links the nameless file to a free name beside the final one, which temporary becomes.
  void give_name() {
    const std::string self = "/proc/self/fd/" + std::to_string(fd);
    temporary = begin_temporary([&]() -> std::string {
      std::string name = temporary_pattern(path);
      const int placeholder = ::mkostemp(name.data(), O_CLOEXEC);
      if (placeholder < 0) return "";
      ::close(placeholder);
      ::unlink(name.c_str());
      return ::linkat(AT_FDCWD, self.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) == 0 ? name : "";
    });
    if (temporary.empty()) fail(path, "cannot be written");
  }
};

AtomicFile::AtomicFile(std::string path) : impl_(std::make_unique<Impl>()) {
  impl_->path = std::move(path);
  if (fs::is_directory(impl_->path)) {
    errno = EISDIR;
    fail(impl_->path, "cannot be written");
  }
  mode_t mode = 0666;
  bool keeps_mode = false;
  struct stat old {};
  if (::stat(impl_->path.c_str(), &old) == 0) {
    if (!S_ISREG(old.st_mode)) {
      impl_->fd = ::open(impl_->path.c_str(), O_WRONLY | O_CLOEXEC);
      if (impl_->fd < 0) fail(impl_->path, "cannot be written");
      impl_->is_direct = true;
    } else {
      impl_->path = fs::canonical(impl_->path).string();  // through links, so that they stay
      mode = old.st_mode & 07777;
      keeps_mode = true;
    }
  }
#ifdef O_TMPFILE
  if (!impl_->is_direct && ::access("/proc/self/fd", X_OK) == 0) {
    impl_->fd = ::open(folder_of(impl_->path).c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, mode);
  }
#endif
  if (impl_->fd < 0) {
    impl_->temporary = begin_temporary([&]() -> std::string {
      std::string name = temporary_pattern(impl_->path);
      impl_->fd = ::mkostemp(name.data(), O_CLOEXEC);
      return impl_->fd < 0 ? "" : name;
    });
    if (impl_->fd < 0) fail(impl_->path, "cannot be written");
    const mode_t mask = ::umask(0);
    ::umask(mask);
    ::fchmod(impl_->fd, mode & ~mask);
  }
  if (keeps_mode) ::fchmod(impl_->fd, mode);
  impl_->buffer = std::make_unique<DescriptorBuffer>(impl_->fd);
  impl_->stream = std::make_unique<std::ostream>(impl_->buffer.get());
}

AtomicFile::~AtomicFile() = default;

std::ostream& AtomicFile::stream() {
  return *impl_->stream;
}

void AtomicFile::commit() {
  impl_->stream->flush();
  errno = impl_->buffer->error();
  if (errno != 0 || !*impl_->stream) fail(impl_->path, "cannot be written");
  if (impl_->is_direct) return;
  if (::fsync(impl_->fd) != 0 && errno != EINVAL) fail(impl_->path, "cannot be written to disk");
  if (impl_->temporary.empty()) {
    impl_->give_name();  // a link cannot replace a file, a rename can: take a free name first
  }
  if (::rename(impl_->temporary.c_str(), impl_->path.c_str()) != 0) fail(impl_->path, "cannot be written");
  forget_temporary(impl_->temporary);
  impl_->temporary.clear();
  sync_folder(folder_of(impl_->path));
}

AtomicFolder::AtomicFolder(std::string final_path) : final_(std::move(final_path)) {
  while (final_.size() > 1 && final_.back() == '/') final_.pop_back();
  std::error_code ignored;
  const fs::file_status status = fs::symlink_status(final_, ignored);
  const bool empty_folder = fs::is_directory(status) && fs::is_empty(final_, ignored);
  if (fs::exists(status) && !empty_folder) {
    throw DataError(final_ + ": exists already; expected the name of a new or empty folder (nothing is overwritten)");
  }
  temporary_ = begin_temporary([&]() -> std::string {
    std::string name = temporary_pattern(final_);
    return ::mkdtemp(name.data()) == nullptr ? "" : name;
  });
  if (temporary_.empty()) fail(final_, "cannot be created");
  ::chmod(temporary_.c_str(), 0755);
}

AtomicFolder::~AtomicFolder() {
  std::error_code ignored;
  if (committed_) return;
  fs::remove_all(temporary_, ignored);
  forget_temporary(temporary_);
}

void AtomicFolder::commit() {
  if (::rename(temporary_.c_str(), final_.c_str()) != 0) fail(final_, "cannot be created");
  committed_ = true;
  forget_temporary(temporary_);
  sync_folder(folder_of(final_));
}

void remove_unfinished_outputs() {
  std::unique_lock<std::mutex> lock(unfinished().mutex);
  for (const std::string& path : unfinished().paths) {
    // Whoever writes does not know yet: a file may appear in a folder that is being emptied.
    for (int attempt = 0; attempt < 100; ++attempt) {
      std::error_code error;
      fs::remove_all(path, error);
      if (!error) break;
    }
  }
  lock.release();  // stays locked: nothing begins any more
}

void write_file_atomically(const std::filesystem::path& path, const std::string& bytes) {
  try {
    AtomicFile file(path.string());
    file.stream().write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    file.commit();
  } catch (const std::system_error& e) {  // names the file
    const bool is_full = e.code() == std::errc::no_space_on_device || e.code().value() == EDQUOT;
    throw UserError(ExitCode::failure,
                    std::string(e.what()) + (is_full ? "\n  advice: make room on the disk, or write to another one"
                                             : e.code() == std::errc::file_too_large
                                                 ? "\n  advice: raise the limit on the size of files (ulimit -f)"
                                                 : ""));
  }
}

}  // namespace bdc
