#pragma once

#include <cstdint>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

namespace bdc {

/// The files of a zip archive, read as if it were a folder. Nothing is ever written to a disk. An archive is refused
/// (DataError) when it is damaged or encrypted, when names in it leave the archive or stand there twice, and when it
/// would grow beyond the limits: entries, bytes in all, and bytes out per byte in.
class ZipFolder {
 public:
  static constexpr std::uint64_t max_entries = 1000000;
  static constexpr std::uint64_t max_bytes = std::uint64_t{8} << 30;
  static constexpr std::uint64_t max_ratio = 300;  ///< of what is larger than small_bytes
  static constexpr std::uint64_t small_bytes = std::uint64_t{1} << 20;

  explicit ZipFolder(std::string path);
  ~ZipFolder();
  ZipFolder(const ZipFolder&) = delete;
  ZipFolder& operator=(const ZipFolder&) = delete;

  /// Paths inside the archive, with / between folders, in order.
  [[nodiscard]] const std::map<std::string, std::uint64_t>& files() const { return files_; }
  [[nodiscard]] const std::set<std::string>& folders() const { return folders_; }
  /// The unpacked file, in memory. Throws DataError when its bytes are damaged.
  [[nodiscard]] std::ifstream open(const std::string& file) const;

 private:
  struct Archive;
  void add(std::uint64_t number);

  std::string path_;
  std::unique_ptr<Archive> archive_;
  std::map<std::string, std::uint64_t> files_;  ///< their numbers
  std::set<std::string> folders_;
};

/// A path that leads to or into a zip archive.
struct ZipPath {
  std::shared_ptr<const ZipFolder> archive;
  std::string inside;  ///< empty: the archive itself
};
/// Nothing when no part of the path is a zip archive. An archive stays open for later calls as long as it does not
/// change.
[[nodiscard]] std::optional<ZipPath> zip_path(const std::string& path);

/// The archive's own path for a path that leads into one; otherwise the path itself.
[[nodiscard]] std::string up_to_zip(const std::string& path);

}  // namespace bdc
