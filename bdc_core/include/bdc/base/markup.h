#pragma once

#include <string_view>

namespace bdc {

/// What stands for a character in XML and HTML, in text as well as in attributes in double quotes: "&amp;" and so on;
/// "" for a character that stands for itself.
[[nodiscard]] constexpr std::string_view markup_entity(char c) {
  return c == '&' ? "&amp;" : c == '<' ? "&lt;" : c == '>' ? "&gt;" : c == '"' ? "&quot;" : std::string_view();
}

}  // namespace bdc
