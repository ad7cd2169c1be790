#include "files/outputs.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "app/user_error.h"

namespace bdc::host {
namespace fs = std::filesystem;
namespace {

bool is_same_file(const std::string& a, const std::string& b) {
  std::error_code ignored;
  if (fs::exists(a, ignored) && fs::exists(b, ignored)) {
    return fs::is_regular_file(a, ignored) && fs::equivalent(a, b, ignored);
  }
  return fs::weakly_canonical(fs::absolute(a), ignored) == fs::weakly_canonical(fs::absolute(b), ignored);
}

}  // namespace

void check_output_folder(const std::string& output) {
  std::error_code ignored;
  const fs::file_status status = fs::status(output, ignored);
  if (output.empty() || (fs::exists(status) && !fs::is_regular_file(status))) return;  // a device, a pipe, a folder
  fs::path folder = fs::path(output).lexically_normal().parent_path();
  if (folder.empty()) folder = ".";
  if (!fs::is_directory(folder, ignored)) {
    throw UserError(ExitCode::failure,
                    output + ": cannot be written: there is no folder " + folder.string() + "; make it first");
  }
  if (::access(folder.c_str(), W_OK | X_OK) != 0) {
    throw UserError(ExitCode::failure, output + ": cannot be written: " + std::strerror(errno));
  }
}

void check_outputs(const std::vector<std::string>& inputs, const std::vector<std::string>& outputs) {
  for (std::size_t n = 0; n < outputs.size(); ++n) {
    if (outputs[n].empty()) continue;
    check_output_folder(outputs[n]);
    for (const std::string& input : inputs) {
      if (!input.empty() && is_same_file(input, outputs[n])) {
        throw UserError(ExitCode::usage,
                        outputs[n] + ": would replace what is read; name another file to write, nothing was changed");
      }
    }
    for (std::size_t m = 0; m < n; ++m) {
      if (!outputs[m].empty() && is_same_file(outputs[m], outputs[n])) {
        throw UserError(ExitCode::usage, outputs[n] + ": is named for two things to write; name two files");
      }
    }
  }
}

}  // namespace bdc::host
