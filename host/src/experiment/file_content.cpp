#include "experiment/file_content.h"

#include <algorithm>
#include <cstdio>
#include <fstream>

namespace bdc::host {
namespace fs = std::filesystem;
namespace {

constexpr std::uint64_t kStart = 14695981039346656037u, kFactor = 1099511628211u;

std::uint64_t hashed(const char* bytes, std::size_t size, std::uint64_t hash) {
  for (std::size_t n = 0; n < size; ++n) hash = (hash ^ static_cast<unsigned char>(bytes[n])) * kFactor;
  return hash;
}

std::string text_of(std::uint64_t hash) {
  char out[17];
  std::snprintf(out, sizeof(out), "%016llx", static_cast<unsigned long long>(hash));
  return out;
}

std::string folder_digest(const fs::path& folder) {
  std::vector<std::string> lines;
  std::error_code ignored;
  for (const auto& entry : fs::recursive_directory_iterator(folder, ignored)) {
    if (!entry.is_regular_file(ignored)) continue;
    lines.push_back(entry.path().lexically_relative(folder).string() + " " + std::to_string(entry.file_size(ignored)) +
                    "\n");
  }
  std::sort(lines.begin(), lines.end());
  std::uint64_t hash = kStart;
  for (const std::string& line : lines) hash = hashed(line.data(), line.size(), hash);
  return text_of(hash);
}

}  // namespace

std::string digest(const std::string& text) {
  return text_of(hashed(text.data(), text.size(), kStart));
}

std::string content_digest(const fs::path& path) {
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) return folder_digest(path);
  std::ifstream in(path, std::ios::binary);
  if (!in) return "missing";
  std::vector<char> buffer(1 << 20);
  std::uint64_t hash = kStart;
  while (in) {
    in.read(buffer.data(), static_cast<std::streamsize>(buffer.size()));
    hash = hashed(buffer.data(), static_cast<std::size_t>(in.gcount()), hash);
  }
  return text_of(hash);
}

void add_content(Json& entry, const std::vector<std::string>& keys) {
  for (const std::string& key : keys) {
    if (entry.contains(key)) entry["content"][key] = content_digest(entry[key].get<std::string>());
  }
}

}  // namespace bdc::host
