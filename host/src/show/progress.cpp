#include "show/progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <fstream>
#include <iostream>

#include "bdc/base/now_seconds.h"

namespace bdc::host {

std::string clock_text(double seconds) {
  const auto total = static_cast<long>(std::lround(std::fmax(0, std::fmin(seconds, 1e9))));
  char text[32];
  if (total >= 3600) {
    std::snprintf(text, sizeof(text), "%ld:%02ld:%02ld", total / 3600, total / 60 % 60, total % 60);
  } else {
    std::snprintf(text, sizeof(text), "%ld:%02ld", total / 60, total % 60);
  }
  return text;
}

Progress::Progress(Style style) : terminal_(::isatty(STDERR_FILENO) == 1), quiet_(style == Style::quiet) {}

Progress::~Progress() {
  clear();
}

void Progress::clear() {
  if (dirty_) std::cerr << "\r\x1b[K" << std::flush;
  dirty_ = false;
}

std::string fitted(const std::string& begin, const std::string& detail, const std::string& end, std::size_t width) {
  if (begin.size() + detail.size() + end.size() <= width) return begin + detail + end;
  return (begin + end).substr(0, width);
}

void Progress::live(const std::string& begin, const std::string& detail, const std::string& end) {
  if (!terminal_ || quiet_) return;
  const double now = now_seconds();
  if (dirty_ && now - last_ < 0.1) return;
  last_ = now;
  winsize window{};
  const std::size_t width =
      ::ioctl(STDERR_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_col > 1 ? window.ws_col - 1u : 79u;
  std::cerr << "\r" << fitted(begin, detail, end, width) << "\x1b[K" << std::flush;
  dirty_ = true;
}

void Progress::line(const std::string& text) {
  if (quiet_) return;
  clear();
  std::cerr << text << std::endl;
}

std::string memory_text() {
  std::ifstream in("/proc/self/statm");
  long long total = 0, resident = 0;
  if (!(in >> total >> resident)) return "";
  return std::to_string(resident * sysconf(_SC_PAGESIZE) / 1000000) + " MB";
}

}  // namespace bdc::host
