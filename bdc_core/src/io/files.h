#pragma once

#include <fstream>
#include <string>
#include <vector>

namespace bdc {

/// Throws DataError unless a file or folder of that name exists.
void require_exists(const std::string& path);
/// Throws DataError, with the reason, unless the file can be read.
[[nodiscard]] std::ifstream open_input(const std::string& path);
/// False for folders, devices and what does not exist.
[[nodiscard]] bool is_regular_file(const std::string& path);
/// "alice" of "crowd/alice.json".
[[nodiscard]] std::string file_stem(const std::string& path);

}  // namespace bdc
