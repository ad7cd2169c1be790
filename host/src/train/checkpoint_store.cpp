#include "train/checkpoint_store.h"

#include <torch/nn.h>

#include "app/user_error.h"
#include "train/safetensors.h"

namespace bdc::host {
namespace fs = std::filesystem;

void CheckpointStore::save(const Checkpoint& checkpoint) const {
  const fs::path fresh = folder_ / "last.new.safetensors";
  write_checkpoint(fresh, checkpoint);
  std::error_code error;
  if (fs::exists(last(), error)) fs::rename(last(), previous(), error);
  if (!error) fs::rename(fresh, last(), error);
  if (error) throw UserError(ExitCode::failure, last().string() + ": cannot be put in place: " + error.message());
}

Checkpoint CheckpointStore::load(const std::function<void(const std::string&)>& warn) const {
  try {
    return read_checkpoint(last());
  } catch (const UserError& first) {
    if (!fs::exists(previous())) throw;
    try {
      Checkpoint checkpoint = read_checkpoint(previous());
      warn("warning: " + std::string(first.what()) + "; going on from the checkpoint before it (epoch " +
           std::to_string(checkpoint.position.epoch + 1) + ", step " + std::to_string(checkpoint.position.step) + ")");
      return checkpoint;
    } catch (const UserError& second) {
      throw UserError(ExitCode::data, std::string(first.what()) + "\n" + second.what());
    }
  }
}

void CheckpointStore::save_best(const std::map<std::string, torch::Tensor>& weights, const Json& about) const {
  TensorFile file;
  file.metadata["format"] = "bdc-weights-1";
  file.metadata["about"] = about.dump();
  file.tensors = weights;
  write_safetensors(best(), file);
}

}  // namespace bdc::host
