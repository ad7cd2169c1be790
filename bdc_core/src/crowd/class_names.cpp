#include <istream>

#include "base/files.h"
#include "bdc/base/error.h"
#include "bdc/base/text.h"
#include "crowd/data_yaml.h"
#include "crowd/image_table.h"

namespace bdc {
namespace {

constexpr std::size_t max_size = std::size_t{1} << 24;
constexpr std::size_t max_names = 1000000;

/// One name per line; blank lines at the end are nothing.
std::vector<std::string> plain_names(std::istream& in, const std::string& name) {
  const std::string text = read_all(in, name, max_size);
  if (!is_utf8(text)) throw DataError(name + ": expected text in UTF-8, found other bytes");
  std::string_view rest = text;
  if (rest.substr(0, 3) == "\xEF\xBB\xBF") rest.remove_prefix(3);
  std::vector<std::string> names;
  std::size_t blank_line = 0;
  const auto fail = [&](std::size_t line, const char* message) {
    throw DataError(name + ":" + std::to_string(line) + ": " + message);
  };
  for (std::size_t line = 1; !rest.empty(); ++line) {
    const std::size_t end = rest.find('\n');
    const std::string_view found = trimmed(rest.substr(0, end));
    rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end + 1);
    if (found.empty()) {
      if (blank_line == 0) blank_line = line;
      continue;
    }
    if (blank_line != 0) fail(blank_line, "expected a class name, found a blank line");
    if (names.size() == max_names) fail(line, "expected at most a million class names");
    names.emplace_back(found);
  }
  return names;
}

}  // namespace

std::vector<std::string> read_class_names(std::istream& in, const std::string& name) {
  if (!is_yaml_name(name)) return plain_names(in, name);
  DataYaml yaml = read_data_yaml(in, name);
  if (!yaml.has_names) throw DataError(name + ": expected the key \"names\" with the class names, found none");
  return std::move(yaml.names);
}

}  // namespace bdc
