#include "files/run_folder.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstring>

#include "bdc/base/user_error.h"

namespace bdc::host {
namespace fs = std::filesystem;

fs::path make_run_folder(const fs::path& parent, const std::string& name, const std::string& stem) {
  std::error_code error;
  fs::create_directories(parent, error);
  if (error) throw UserError(ExitCode::failure, parent.string() + ": cannot be created: " + error.message());
  if (!name.empty() && (name.find('/') != std::string::npos || name == "." || name == "..")) {
    throw UserError(ExitCode::config, "output.name: '" + name + "' must be a plain folder name");
  }
  for (int number = 1;; ++number) {
    const fs::path folder = parent / (name.empty() ? stem + "-" + std::to_string(number) : name);
    if (::mkdir(folder.c_str(), 0777) == 0) return folder;
    if (errno != EEXIST)
      throw UserError(ExitCode::failure, folder.string() + ": cannot be created: " + std::strerror(errno));
    if (!name.empty()) {
      throw UserError(ExitCode::failure, folder.string() +
                                             ": there is already a run with that name; nothing is overwritten\n"
                                             "  advice: choose another output.name, or --resume to continue it");
    }
  }
}

}  // namespace bdc::host
