#include "studio/experiment/file_content.h"

#include <algorithm>
#include <cstdio>

#include "bdc/base/checksum.h"
#include "bdc/base/file_checksum.h"

namespace bdc::host {
namespace fs = std::filesystem;
namespace {

/// The names and sizes of the files below a folder.
std::string folder_checksum(const fs::path& folder) {
  std::vector<std::string> lines;
  std::error_code ignored;
  for (const auto& entry : fs::recursive_directory_iterator(folder, ignored)) {
    if (!entry.is_regular_file(ignored)) continue;
    lines.push_back(entry.path().lexically_relative(folder).string() + " " + std::to_string(entry.file_size(ignored)));
  }
  std::sort(lines.begin(), lines.end());
  Checksum sum;
  for (const std::string& line : lines) sum.add(line);
  return sum.text();
}

}  // namespace

std::string digest(const std::string& text) {
  std::uint64_t hash = 14695981039346656037u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  char out[17];
  std::snprintf(out, sizeof(out), "%016llx", static_cast<unsigned long long>(hash));
  return out;
}

std::string content_digest(const fs::path& path) {
  std::error_code ignored;
  const std::string sum = fs::is_directory(path, ignored) ? folder_checksum(path) : file_checksum(path);
  return sum.empty() ? "missing" : sum;
}

void add_content(Json& entry, const std::vector<std::string>& keys) {
  for (const std::string& key : keys) {
    if (entry.contains(key)) entry["content"][key] = content_digest(entry[key].get<std::string>());
  }
}

}  // namespace bdc::host
