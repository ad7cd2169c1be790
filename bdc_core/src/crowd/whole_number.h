#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "bdc/base/text.h"

namespace bdc {

/// A whole number, which some programs write as 500.0; nothing when it is none.
[[nodiscard]] inline std::optional<std::int64_t> whole_number(std::string_view text) {
  if (const auto number = parse_integer(text)) return number;
  const std::size_t point = text.find('.');
  if (point == std::string_view::npos || text.find_first_not_of('0', point + 1) != std::string_view::npos) return {};
  return parse_integer(text.substr(0, point));
}

}  // namespace bdc
