#include "engine/launch_mark.h"

#include <unistd.h>

#include <fstream>
#include <iterator>
#include <vector>

#include "bdc/base/atomic_file.h"

namespace bdc::host {
namespace fs = std::filesystem;
namespace {

constexpr const char* kFile = "launch";

std::string content(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// The process that has started this one: its id, when it began, and the machine's boot.
std::string parent_process() {
  const std::string id = std::to_string(::getppid());
  const std::string stat = content("/proc/" + id + "/stat");
  // The 22nd field; the second is a name in brackets that may hold blanks.
  std::size_t at = stat.rfind(')');
  for (int field = 2; field < 22 && at != std::string::npos; ++field) at = stat.find(' ', at + 1);
  const std::string begun = at == std::string::npos ? "" : stat.substr(at + 1, stat.find(' ', at + 1) - at - 1);
  return "process " + id + " of " + begun + ", boot " + content("/proc/sys/kernel/random/boot_id");
}

/// The folders in `parent` with this mark.
std::vector<fs::path> marked(const fs::path& parent, const std::string& text) {
  std::vector<fs::path> out;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(parent, ignored)) {
    if (content(entry.path() / kFile) == text) out.push_back(entry.path());
  }
  return out;
}

}  // namespace

LaunchMark::LaunchMark(const Launch& launch)
    : text_(launch.launcher + " " + (launch.job.empty() ? parent_process() : "job " + launch.job) + "\n") {}

void LaunchMark::write(const fs::path& run_folder) const {
  write_file_atomically(run_folder / kFile, text_);
}

std::optional<fs::path> LaunchMark::find(const fs::path& parent) const {
  const auto found = marked(parent, text_);
  if (found.empty()) return {};
  return found.front();
}

void LaunchMark::forget(const fs::path& parent) const {
  for (const fs::path& folder : marked(parent, text_)) {
    std::error_code ignored;
    fs::remove(folder / kFile, ignored);
  }
}

}  // namespace bdc::host
