#pragma once

#include <string_view>

namespace bdc::host {

[[nodiscard]] inline bool ends_with(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

}  // namespace bdc::host
