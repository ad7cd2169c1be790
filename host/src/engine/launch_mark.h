#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "launch/launch.h"

namespace bdc::host {

/// What a run folder remembers of the launch that has begun it: the file `launch` in it. A launcher that starts its
/// ranks anew after one has failed finds the run by it, and the run goes on.
class LaunchMark {
 public:
  /// launch: of rank 0.
  explicit LaunchMark(const Launch& launch);

  void write(const std::filesystem::path& run_folder) const;
  /// The run in `parent` that an earlier attempt of the launch has begun; nothing where it did not come so far.
  [[nodiscard]] std::optional<std::filesystem::path> find(const std::filesystem::path& parent) const;
  /// Takes the mark off runs in `parent`: a launch of the same name has begun them before.
  void forget(const std::filesystem::path& parent) const;

 private:
  std::string text_;
};

}  // namespace bdc::host
