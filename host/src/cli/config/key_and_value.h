#pragma once

#include <string>
#include <utility>

namespace bdc::host {

/// The two sides of the "=" in the value of an option. Throws UserError (exit 2) where one is missing: "--set epochs:
/// expected KEY=VALUE".
[[nodiscard]] std::pair<std::string, std::string> key_and_value(const std::string& option, const std::string& text,
                                                                const std::string& form = "KEY=VALUE");

}  // namespace bdc::host
