#include "files/path_list.h"

#include <algorithm>
#include <filesystem>

namespace bdc::host {

std::vector<std::string> path_list(const std::string& text) {
  std::error_code ignored;
  if (std::filesystem::exists(text, ignored)) return {text};
  std::vector<std::string> out;
  for (std::size_t from = 0; from <= text.size();) {
    const std::size_t comma = std::min(text.find(',', from), text.size());
    if (comma > from) out.push_back(text.substr(from, comma - from));
    from = comma + 1;
  }
  return out;
}

}  // namespace bdc::host
