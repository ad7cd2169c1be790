#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

namespace bdc::host {

/// Appends scalars to a TensorBoard event file (TFRecord frames of Event messages, written by hand: two message types
/// do not need a protobuf library).
class TensorBoardFile {
 public:
  /// Starts a new file in `folder`, named after the time. Throws UserError (exit 1) when that fails.
  explicit TensorBoardFile(const std::filesystem::path& folder);
  /// All values at one step, flushed. Throws UserError (exit 1) when the disk is full.
  void add(std::int64_t step, const std::map<std::string, double>& values);

 private:
  void write_record(const std::string& event);
  std::filesystem::path path_;
  std::ofstream out_;
};

/// An Event message with scalars, as add() writes it.
[[nodiscard]] std::string scalar_event(double wall_time, std::int64_t step,
                                       const std::map<std::string, double>& values);

}  // namespace bdc::host
