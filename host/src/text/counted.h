#pragma once

#include <cstddef>
#include <string>

namespace bdc::host {

/// "1 box", "3 boxes": a count and what is counted. many: the plural; left out, an s is added.
[[nodiscard]] inline std::string counted(std::size_t n, const std::string& one, const std::string& many = "") {
  return std::to_string(n) + " " + (n == 1 ? one : many.empty() ? one + "s" : many);
}

}  // namespace bdc::host
