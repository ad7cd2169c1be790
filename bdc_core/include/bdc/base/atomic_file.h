#pragma once

#include <filesystem>
#include <memory>
#include <ostream>
#include <string>

namespace bdc {

/// A file that appears complete or not at all: written beside its final place, synced to disk and renamed by commit().
/// Without commit() nothing is left behind, also when the process is killed (where the file system can do that).
/// A file of that name is replaced and keeps its permissions; a link stays a link, and what it leads to is replaced. A
/// device or pipe is written as it is. Throws std::system_error, with the path, when the folder cannot be written or
/// the disk is full.
class AtomicFile {
 public:
  explicit AtomicFile(std::string path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  [[nodiscard]] std::ostream& stream();
  void commit();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// The same for a folder of files: write below path(), then commit() gives the folder its final name. The final name
/// must not exist yet, or be an empty folder; throws DataError otherwise, before anything is written.
class AtomicFolder {
 public:
  explicit AtomicFolder(std::string final_path);
  ~AtomicFolder();
  AtomicFolder(const AtomicFolder&) = delete;
  AtomicFolder& operator=(const AtomicFolder&) = delete;

  [[nodiscard]] const std::string& path() const { return temporary_; }
  void commit();

 private:
  std::string final_, temporary_;
  bool committed_ = false;
};

/// Writes a whole file through AtomicFile. Throws UserError (exit 1) when that fails; what was there before stays.
void write_file_atomically(const std::filesystem::path& path, const std::string& bytes);

/// Removes what uncommitted AtomicFiles and AtomicFolders have written so far, for a process that was told to stop. It
/// must end right after: from here on no output can be begun (that waits for ever). Not for signal handlers: call it
/// from a thread.
void remove_unfinished_outputs();

}  // namespace bdc
