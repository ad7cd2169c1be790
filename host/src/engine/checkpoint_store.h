#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "engine/checkpoint.h"

namespace bdc::host {

/// The checkpoints of a run folder: last.safetensors, the one before it as previous.safetensors, and the best weights
/// as best.safetensors. At every moment at least one whole checkpoint is there once the first was written.
class CheckpointStore {
 public:
  explicit CheckpointStore(std::filesystem::path folder) : folder_(std::move(folder)) {}

  /// Writes a new last one; the last so far becomes the previous. When that fails (a full disk), both stay as they are.
  void save(const Checkpoint& checkpoint) const;
  /// The last one, or the previous when the last is damaged or missing; then says so through `warn`. Throws UserError
  /// (exit 4), with what can be done now, when neither can be read.
  [[nodiscard]] Checkpoint load(const std::function<void(const std::string&)>& warn) const;

  /// Whether none was written yet.
  [[nodiscard]] bool is_empty() const;

  /// Weights alone, as `val` and `predict` read them: parameters and buffers by name, with metadata.
  void save_best(const std::map<std::string, torch::Tensor>& weights, const Json& about) const;

  [[nodiscard]] std::filesystem::path last() const { return folder_ / "last.safetensors"; }
  [[nodiscard]] std::filesystem::path previous() const { return folder_ / "previous.safetensors"; }
  [[nodiscard]] std::filesystem::path best() const { return folder_ / "best.safetensors"; }

 private:
  /// What to do when no checkpoint can be read.
  [[nodiscard]] std::string advice() const;

  std::filesystem::path folder_;
};

}  // namespace bdc::host
