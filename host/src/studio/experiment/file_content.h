#pragma once

#include <filesystem>
#include <string>

#include "files/json_file.h"

namespace bdc::host {

/// 64-bit FNV-1a as 16 hexadecimal digits.
[[nodiscard]] std::string digest(const std::string& text);

/// A digest of a file's bytes; of a folder, of the names and sizes of the files below it; "missing" where there is
/// neither.
[[nodiscard]] std::string content_digest(const std::filesystem::path& path);

/// Adds "content" to an entry of a grid: digests of the files that its keys name, so that a cell is run again when one
/// of them has changed. Keys the entry does not have, and entries without any, are left alone.
void add_content(Json& entry, const std::vector<std::string>& keys);

}  // namespace bdc::host
