#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "weights/byte_source.h"

namespace bdc::host {

/// A file inside a zip archive. Its bytes stand in the archive as they are, from byte `at`.
struct ZipEntry {
  std::string name;
  std::uint64_t at = 0;
  std::uint64_t size = 0;
  std::uint32_t crc = 0;
};

/// A zip archive (zip64 too) whose files are stored without compression, as torch.save writes them. What is compressed
/// or encrypted is refused, so nothing can expand: all files together are smaller than the archive.
class ZipFile {
 public:
  /// Reads the directory alone. Throws UserError (exit 4) when it is damaged or contradicts the files' own headers,
  /// when files overlap, lie outside, or bear one name twice, or when there are more than 200,000.
  explicit ZipFile(ByteSource bytes);

  [[nodiscard]] const ByteSource& source() const { return bytes_; }
  /// In the directory's order.
  [[nodiscard]] const std::vector<ZipEntry>& entries() const { return entries_; }
  /// Null when there is none of that name.
  [[nodiscard]] const ZipEntry* find(const std::string& name) const;
  /// The whole file. Throws UserError (exit 4) when its checksum is wrong.
  [[nodiscard]] std::string read(const ZipEntry& entry) const;

 private:
  ByteSource bytes_;
  std::vector<ZipEntry> entries_;
  std::map<std::string, std::size_t> by_name_;
};

}  // namespace bdc::host
