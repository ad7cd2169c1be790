#include "io/files.h"

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "bdc/core/error.h"

namespace bdc {
namespace fs = std::filesystem;

void require_exists(const std::string& path) {
  std::error_code error;
  if (!fs::exists(path, error)) throw DataError(path + ": no such file or folder");
}

std::ifstream open_input(const std::string& path) {
  require_exists(path);
  if (fs::is_directory(path)) throw DataError(path + ": expected a file, found a folder");
  errno = 0;
  std::ifstream in(path, std::ios::binary);
  if (!in) throw DataError(path + ": cannot be opened: " + std::strerror(errno));
  return in;
}

bool is_regular_file(const std::string& path) {
  std::error_code error;
  return fs::is_regular_file(path, error);
}

std::string file_stem(const std::string& path) {
  return fs::path(path).stem().string();
}

}  // namespace bdc
