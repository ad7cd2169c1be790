#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace bdc::host {

/// How a long job talks: one live line on a terminal that is rewritten in place, whole lines elsewhere. Goes to
/// standard error, so that results on standard output stay clean.
class Progress {
 public:
  enum class Style { automatic, quiet };
  explicit Progress(Style style);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Rewrites the live line, at most ten times a second. Nothing when not on a terminal.
  void live(const std::string& text) { live(text, "", ""); }
  /// The same for begin + detail + end; the detail is left out where the terminal is too narrow for all three.
  void live(const std::string& begin, const std::string& detail, const std::string& end);
  /// Takes the live line away, before something else is printed.
  void finish() { clear(); }
  /// A line that stays.
  void line(const std::string& text);

 private:
  void clear();
  bool terminal_;
  bool quiet_;
  bool dirty_ = false;
  double last_ = 0;
};

/// begin + detail + end, without the detail where that is wider than `width`, and then cut off there.
[[nodiscard]] std::string fitted(const std::string& begin, const std::string& detail, const std::string& end,
                                 std::size_t width);
/// "1:05" or "2:03:09".
[[nodiscard]] std::string clock_text(double seconds);
/// What the process holds in memory now: "812 MB"; "" where the system does not tell.
[[nodiscard]] std::string memory_text();

}  // namespace bdc::host
