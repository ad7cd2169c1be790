#pragma once

#include <string>

namespace CLI {
class App;
}

namespace bdc::host {

/// The manual page (man(7)) of the program: its verbs with their options, as --help has them.
[[nodiscard]] std::string manual_page(const CLI::App& program, const std::string& version);

/// A script for bash that completes verbs, options and file names.
[[nodiscard]] std::string bash_completion(const CLI::App& program);

}  // namespace bdc::host
