#include "bdc/crowd/losses.h"

#include <stdlib.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "base/files.h"
#include "bdc/base/error.h"

namespace bdc {
namespace {

/// A new folder that is removed with all it holds.
class ScratchFolder {
 public:
  explicit ScratchFolder(const std::string& above) : path_(join(above, "bdc-losses-XXXXXX")) {
    if (mkdtemp(path_.data()) == nullptr) {
      throw std::system_error(errno, std::generic_category(), path_ + ": cannot be created");
    }
  }
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace

std::vector<FormatLosses> losses_by_format(const CrowdData& data, const std::string& scratch) {
  std::vector<FormatLosses> out;
  for (const CrowdFormatInfo& format : crowd_formats()) {
    if (!format.can_write) continue;
    const ScratchFolder folder(scratch);
    FormatLosses row;
    row.format = format.name;
    try {
      row.losses = write_crowd(data, join(folder.path(), "out"), format.name).losses;
    } catch (const DataError& error) {
      row.refused = error.what();
    }
    out.push_back(std::move(row));
  }
  return out;
}

}  // namespace bdc
