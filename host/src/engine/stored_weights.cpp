#include "engine/stored_weights.h"

#include <torch/nn.h>
#include <torch/utils.h>

#include "bdc/base/user_error.h"
#include "engine/checkpoint_store.h"
#include "engine/safetensors.h"

namespace bdc::host {
namespace fs = std::filesystem;
namespace {

StoredWeights from_checkpoint(Checkpoint c, const fs::path& path) {
  StoredWeights out;
  out.tensors = c.ema.empty() ? std::move(c.model) : std::move(c.ema);
  out.config = std::move(c.config);
  out.classes = std::move(c.classes);
  out.from = path.string() + ", step " + std::to_string(c.position.step);
  return out;
}

StoredWeights from_weight_file(const fs::path& path) {
  TensorFile file = read_safetensors(path);
  if (is_checkpoint(file)) return from_checkpoint(read_checkpoint(path), path);
  if (file.metadata["format"] != "bdc-weights-1") {
    throw UserError(ExitCode::data,
                    path.string() +
                        ": is not a weight file of a run (best.safetensors, last.safetensors)\n  advice: give the "
                        "run's folder; weights from other programs can start a new run (train.weights)");
  }
  StoredWeights out;
  try {
    const Json about = Json::parse(file.metadata.at("about"));
    out.config = about.at("config").dump();
    out.classes = about.at("classes").get<std::vector<std::string>>();
    out.from = path.string() + ", epoch " + std::to_string(about.at("epoch").get<std::int64_t>());
  } catch (const std::exception&) {
    throw UserError(ExitCode::data, path.string() + ": its metadata is damaged");
  }
  out.tensors = std::move(file.tensors);
  return out;
}

}  // namespace

StoredWeights read_stored_weights(const fs::path& what) {
  std::error_code ignored;
  if (!fs::exists(what, ignored)) {
    throw UserError(ExitCode::data, what.string() + ": no such run folder or weight file");
  }
  if (!fs::is_directory(what, ignored)) return from_weight_file(what);
  if (fs::exists(what / "best.safetensors", ignored)) return from_weight_file(what / "best.safetensors");
  return from_checkpoint(CheckpointStore(what).load([](const std::string&) {}), what);
}

}  // namespace bdc::host
