#include "studio/experiment/child_step.h"

#include <fstream>

#include "bdc/base/text.h"
#include "files/child_process.h"

namespace bdc::host {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t kLinesTold = 5;
constexpr std::uintmax_t kMostRead = 65536;

/// The last lines of what was written behind `from`, oldest first.
std::vector<std::string> last_lines(const fs::path& log, std::uintmax_t from, std::size_t count) {
  std::error_code ignored;
  const std::uintmax_t size = fs::file_size(log, ignored);
  if (ignored || size <= from) return {};
  std::ifstream in(log, std::ios::binary);
  in.seekg(static_cast<std::streamoff>(std::max(from, size - std::min(size, kMostRead))));
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) {
    if (!line.empty()) lines.push_back(printable(line, 400));
  }
  if (lines.size() > count) lines.erase(lines.begin(), lines.end() - static_cast<std::ptrdiff_t>(count));
  return lines;
}

/// Whether every other cell would end the same way.
bool is_of_all_cells(ExitCode code) {
  return code == ExitCode::usage || code == ExitCode::config || code == ExitCode::plugin_not_found ||
         code == ExitCode::abi_mismatch;
}

}  // namespace

void run_step(std::vector<std::string> words, const CellSettings& settings, const std::string& log,
              const std::atomic<bool>& stop) {
  fs::create_directories(settings.folder / "logs");
  const fs::path file = settings.folder / "logs" / (log + ".log");
  std::error_code is_new;
  const std::uintmax_t earlier = fs::file_size(file, is_new), from = is_new ? 0 : earlier;
  const auto look = [&] {
    const auto newest = last_lines(file, from, 1);
    if (settings.live) settings.live(newest.empty() ? words[1] + " is starting" : newest[0]);
  };
  words.insert(words.begin(), own_program());
  const int code = run_child(words, file, stop, look);
  if (code == 0 || stop) return;
  std::string message = log + ": " + words[1] + " ended with exit code " + std::to_string(code) + "; " + file.string();
  const auto lines = last_lines(file, from, kLinesTold);
  message += lines.empty() ? " is empty" : " ends with\n  " + join(lines, "\n  ");
  const auto exit = code >= 1 && code <= 9 ? static_cast<ExitCode>(code) : ExitCode::failure;
  if (is_of_all_cells(exit)) throw UserError(exit, message);
  throw CellFailure(exit, message);
}

}  // namespace bdc::host
