#include "engine/checkpoint_store.h"

#include <torch/nn.h>

#include "bdc/base/user_error.h"
#include "engine/safetensors.h"

namespace bdc::host {
namespace fs = std::filesystem;

void CheckpointStore::save(const Checkpoint& checkpoint) const {
  const fs::path fresh = folder_ / "last.new.safetensors";
  std::error_code error;
  try {
    write_checkpoint(fresh, checkpoint);
  } catch (const UserError& e) {
    if (!fs::exists(last(), error)) throw;
    throw UserError(e.code(), std::string(e.what()) + "\n  the previous checkpoint is intact: continue with --resume " +
                                  folder_.string());
  }
  if (fs::exists(last(), error)) fs::rename(last(), previous(), error);
  if (!error) fs::rename(fresh, last(), error);
  if (error) throw UserError(ExitCode::failure, last().string() + ": cannot be moved into place: " + error.message());
}

std::string CheckpointStore::advice() const {
  std::error_code ignored;
  const fs::path config = folder_ / "config.json";
  const bool has_config = fs::exists(config, ignored), has_best = fs::exists(best(), ignored);
  if (!has_config && !has_best) return "\n  advice: is this the folder of a run? It has no config.json either";
  std::string out = "\n  advice: restore a copy of the checkpoint";
  if (has_config) {
    out += ", or start over with the run's settings: bdc-host train --config " + config.string() +
           " --set output.name=";  // a name of its own may be in the config, and is taken
    if (has_best) out += " --set train.weights=" + best().string() + " (the best weights so far)";
  }
  if (has_best) out += "\n  `val` and `predict` need " + best().string() + " alone, which is there";
  return out;
}

bool CheckpointStore::is_empty() const {
  std::error_code ignored;
  return !fs::exists(last(), ignored) && !fs::exists(previous(), ignored);
}

Checkpoint CheckpointStore::load(const std::function<void(const std::string&)>& warn) const {
  std::error_code ignored;
  if (is_empty()) {
    throw UserError(ExitCode::data,
                    folder_.string() +
                        ": holds no checkpoint (last.safetensors); a run writes its first one at the end "
                        "of the first epoch, or when it is interrupted" +
                        advice());
  }
  try {
    return read_checkpoint(last());
  } catch (const UserError& first) {
    if (!fs::exists(previous(), ignored)) {
      throw UserError(ExitCode::data, std::string(first.what()) +
                                          "; there is no earlier checkpoint (previous.safetensors) to resume from" +
                                          advice());
    }
    try {
      Checkpoint checkpoint = read_checkpoint(previous());
      warn("warning: " + std::string(first.what()) + "; resuming from the previous checkpoint (epoch " +
           std::to_string(checkpoint.position.epoch + 1) + ", step " + std::to_string(checkpoint.position.step) + ")");
      return checkpoint;
    } catch (const UserError& second) {
      throw UserError(ExitCode::data, std::string(first.what()) + "\n" + second.what() + advice());
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
