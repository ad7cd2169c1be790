#include "files/outputs.h"

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

void check_outputs(const std::vector<std::string>& inputs, const std::vector<std::string>& outputs) {
  for (std::size_t n = 0; n < outputs.size(); ++n) {
    if (outputs[n].empty()) continue;
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
