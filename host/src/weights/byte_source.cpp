#include "weights/byte_source.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "bdc/base/user_error.h"

namespace bdc::host {

ByteSource ByteSource::open(const std::filesystem::path& path) {
  ByteSource out;
  out.name_ = path.string();
  // Not blocking, so that a named pipe does not hold the program.
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) out.fail(errno == ENOENT ? "no such file" : std::string("cannot be opened: ") + strerror(errno));
  out.file_ = std::shared_ptr<const int>(new int(descriptor), [](const int* p) {
    ::close(*p);
    delete p;
  });
  struct stat info {};
  if (::fstat(descriptor, &info) != 0 || !S_ISREG(info.st_mode)) out.fail("is not a regular file");
  out.size_ = static_cast<std::uint64_t>(info.st_size);
  return out;
}

ByteSource ByteSource::memory(std::string bytes, std::string name) {
  ByteSource out;
  out.name_ = std::move(name);
  out.size_ = bytes.size();
  out.memory_ = std::make_shared<const std::string>(std::move(bytes));
  return out;
}

std::string ByteSource::read(std::uint64_t at, std::uint64_t count) const {
  if (at > size_ || count > size_ - at) {
    fail("is cut off: expected " + std::to_string(count) + " bytes from byte " + std::to_string(at) + ", it has " +
         std::to_string(size_));
  }
  if (memory_) return memory_->substr(at, count);
  std::string out(count, '\0');
  std::size_t done = 0;
  while (done < count) {
    const ::ssize_t got = ::pread(*file_, out.data() + done, count - done, static_cast<::off_t>(at + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail(std::string("cannot be read: ") + strerror(errno));
    if (got == 0) fail("became shorter while it was read");
    done += static_cast<std::size_t>(got);
  }
  return out;
}

void ByteSource::fail(const std::string& what) const {
  throw UserError(ExitCode::data, name_ + ": " + what);
}

}  // namespace bdc::host
