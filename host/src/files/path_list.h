#pragma once

#include <string>
#include <vector>

namespace bdc::host {

/// One path, or several with commas between; a text with commas that is the name of something is one path.
[[nodiscard]] std::vector<std::string> path_list(const std::string& text);

}  // namespace bdc::host
