#include <istream>
#include <map>

#include "base/files.h"
#include "bdc/base/error.h"
#include "bdc/base/text.h"
#include "crowd/image_table.h"

namespace bdc {
namespace {

constexpr std::size_t max_size = std::size_t{1} << 24;
constexpr std::size_t max_names = 1000000;

class NameFile {
 public:
  NameFile(std::istream& in, const std::string& name) : name_(name) {
    const std::string text = read_all(in, name, max_size);
    if (!is_utf8(text)) throw DataError(name + ": expected text in UTF-8, found other bytes");
    std::string_view rest = text;
    if (rest.substr(0, 3) == "\xEF\xBB\xBF") rest.remove_prefix(3);
    while (!rest.empty()) {
      const std::size_t end = rest.find('\n');
      std::string_view line = rest.substr(0, end);
      if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
      lines_.emplace_back(line);
      rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end + 1);
    }
  }

  [[nodiscard]] std::vector<std::string> plain() const {
    std::vector<std::string> names;
    std::size_t blank_line = 0;
    for (std::size_t n = 0; n < lines_.size(); ++n) {
      const std::string_view name = trimmed(lines_[n]);
      if (name.empty()) {
        if (blank_line == 0) blank_line = n + 1;
        continue;
      }
      if (blank_line != 0) fail(blank_line - 1, "expected a class name, found a blank line");
      if (names.size() == max_names) fail(n, "expected at most a million class names");
      names.emplace_back(name);
    }
    return names;
  }

  /// The value of the top-level key `names`; all other lines are passed over.
  [[nodiscard]] std::vector<std::string> yaml() const {
    for (std::size_t n = 0; n < lines_.size(); ++n) {
      const std::string_view line = lines_[n];
      if (line.rfind("names:", 0) != 0) continue;
      const std::string_view value = without_comment(line.substr(6));
      if (value.empty()) return block(n + 1);
      if (value.front() == '[' || value.front() == '{') return flow(n, std::string(value));
      fail(n, "expected a list or a map after \"names:\", found " + in_quotes(value));
    }
    throw DataError(name_ + ": expected the key \"names\" with the class names, found none");
  }

 private:
  [[noreturn]] void fail(std::size_t line, const std::string& message) const {
    throw DataError(name_ + ":" + std::to_string(line + 1) + ": " + message);
  }

  /// Without a trailing comment (a # after a blank, outside quotes) and blanks.
  static std::string_view without_comment(std::string_view text) {
    char quote = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (quote != 0) {
        if (text[i] == quote) quote = 0;
      } else if (text[i] == '\'' || text[i] == '"') {
        quote = text[i];
      } else if (text[i] == '#' && (i == 0 || text[i - 1] == ' ' || text[i - 1] == '\t')) {
        return trimmed(text.substr(0, i));
      }
    }
    return trimmed(text);
  }

  static std::string unquoted(std::string_view text) {
    text = trimmed(text);
    if (text.size() >= 2 && (text.front() == '\'' || text.front() == '"') && text.back() == text.front()) {
      const char quote = text.front();
      std::string out;
      for (std::size_t i = 1; i + 1 < text.size(); ++i) {
        const bool escaped =
            (quote == '\'' && text[i] == '\'' && text[i + 1] == '\'') || (quote == '"' && text[i] == '\\');
        if (escaped && i + 2 < text.size()) ++i;
        out += text[i];
      }
      return out;
    }
    return std::string(text);
  }

  /// Adds "7: name" (numbered) or "name".
  void add(std::size_t line, std::string_view item, bool numbered, std::map<std::size_t, std::string>& names) const {
    std::size_t index = names.size();
    if (numbered) {
      const std::size_t colon = item.find(':');
      const auto number = parse_integer(trimmed(item.substr(0, colon)));
      if (colon == std::string_view::npos || !number || *number < 0 ||
          *number >= static_cast<std::int64_t>(max_names)) {
        fail(line, "expected \"number: class name\", found " + in_quotes(item));
      }
      index = static_cast<std::size_t>(*number);
      item = item.substr(colon + 1);
    }
    const std::string name = unquoted(item);
    if (name.empty()) fail(line, "expected a class name, found nothing");
    if (!names.try_emplace(index, name).second) fail(line, "class " + std::to_string(index) + " is named twice");
  }

  [[nodiscard]] std::vector<std::string> block(std::size_t first) const {
    std::map<std::size_t, std::string> names;
    for (std::size_t n = first; n < lines_.size(); ++n) {
      const std::string_view item = without_comment(lines_[n]);
      if (item.empty()) continue;
      const bool dash = item.front() == '-';
      const bool indented = lines_[n].front() == ' ' || lines_[n].front() == '\t';
      if (!dash && !indented) break;  // the next key
      add(n, dash ? item.substr(1) : item, !dash, names);
    }
    return dense(names);
  }

  [[nodiscard]] std::vector<std::string> flow(std::size_t line, std::string text) const {
    const char close = text.front() == '[' ? ']' : '}';
    const std::size_t first_line = line;
    while (text.back() != close) {
      if (++line >= lines_.size()) fail(first_line, std::string("the list of names does not end in '") + close + "'");
      text += ' ';
      text += without_comment(lines_[line]);
    }
    const std::string_view inside = std::string_view(text).substr(1, text.size() - 2);
    std::map<std::size_t, std::string> names;
    std::size_t start = 0;
    char quote = 0;
    for (std::size_t i = 0; i <= inside.size(); ++i) {
      if (i < inside.size() && quote != 0) {
        if (inside[i] == quote) quote = 0;
      } else if (i < inside.size() && (inside[i] == '\'' || inside[i] == '"')) {
        quote = inside[i];
      } else if (i == inside.size() || inside[i] == ',') {
        const std::string_view item = trimmed(inside.substr(start, i - start));
        start = i + 1;
        if (item.empty() && i == inside.size()) break;  // a comma at the end, or an empty list
        add(first_line, item, close == '}', names);
      }
    }
    return dense(names);
  }

  [[nodiscard]] std::vector<std::string> dense(const std::map<std::size_t, std::string>& names) const {
    std::vector<std::string> out;
    for (const auto& [index, name] : names) {
      if (index != out.size()) {
        throw DataError(name_ + ": expected class numbers from 0 without gaps, found no class " +
                        std::to_string(out.size()));
      }
      out.push_back(name);
    }
    return out;
  }

  std::string name_;
  std::vector<std::string> lines_;
};

}  // namespace

std::vector<std::string> read_class_names(std::istream& in, const std::string& name) {
  const NameFile file(in, name);
  const std::string lower = lower_case(name);
  return ends_with(lower, ".yaml") || ends_with(lower, ".yml") ? file.yaml() : file.plain();
}

}  // namespace bdc
