#include "experiment/child_step.h"

#include "app/user_error.h"
#include "files/child_process.h"

namespace bdc::host {
namespace fs = std::filesystem;

void run_step(std::vector<std::string> words, const CellSettings& settings, const std::string& log,
              const std::atomic<bool>& stop) {
  fs::create_directories(settings.folder / "logs");
  const fs::path file = settings.folder / "logs" / (log + ".log");
  words.insert(words.begin(), own_program());
  const int code = run_child(words, file, stop);
  if (code != 0 && !stop) {
    throw UserError(ExitCode::failure,
                    words[1] + " ended with exit code " + std::to_string(code) + "; see " + file.string());
  }
}

}  // namespace bdc::host
