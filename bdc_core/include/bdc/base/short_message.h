#pragma once

#include <exception>
#include <string>

namespace bdc {

/// An exception's message without the C++ backtrace that some libraries put below it.
[[nodiscard]] inline std::string short_message(const std::exception& error) {
  const std::string what = error.what();
  return what.substr(0, what.find("\nException raised from"));
}

}  // namespace bdc
