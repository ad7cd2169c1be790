#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

namespace bdc::host {

/// Bytes that can be read at any place: a file, or memory. Copies share the file.
class ByteSource {
 public:
  /// Throws UserError (exit 4) unless it is a regular file that can be read.
  [[nodiscard]] static ByteSource open(const std::filesystem::path& path);
  /// `name` stands for the path in messages.
  [[nodiscard]] static ByteSource memory(std::string bytes, std::string name);

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] std::uint64_t size() const { return size_; }
  /// `count` bytes from byte `at`. Throws UserError (exit 4) unless all of them are there; nothing is allocated before.
  [[nodiscard]] std::string read(std::uint64_t at, std::uint64_t count) const;
  /// Throws UserError (exit 4): "<name>: <what>".
  [[noreturn]] void fail(const std::string& what) const;

 private:
  ByteSource() = default;

  std::string name_;
  std::uint64_t size_ = 0;
  std::shared_ptr<const int> file_;  ///< the descriptor; empty for memory
  std::shared_ptr<const std::string> memory_;
};

}  // namespace bdc::host
