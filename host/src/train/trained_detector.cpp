#include "train/trained_detector.h"

#include <torch/nn.h>
#include <torch/utils.h>

#include "app/user_error.h"
#include "config/config.h"
#include "config/options.h"
#include "train/checkpoint_store.h"
#include "train/device.h"
#include "train/safetensors.h"
#include "train/tensor_process.h"

namespace bdc::host {
namespace fs = std::filesystem;
namespace {

struct Weights {
  std::map<std::string, torch::Tensor> tensors;
  Json config;
  std::vector<std::string> classes;
  std::string from;
};

Weights from_checkpoint(Checkpoint c, const fs::path& path) {
  Weights out;
  out.tensors = c.ema.empty() ? std::move(c.model) : std::move(c.ema);
  out.config = std::move(c.config);
  out.classes = std::move(c.classes);
  out.from = path.string() + ", step " + std::to_string(c.position.step);
  return out;
}

Weights from_weight_file(const fs::path& path) {
  TensorFile file = read_safetensors(path);
  if (is_checkpoint(file)) return from_checkpoint(read_checkpoint(path), path);
  if (file.metadata["format"] != "bdc-weights-1") {
    throw UserError(ExitCode::data,
                    path.string() +
                        ": is no weight file of a run (best.safetensors, last.safetensors)\n  advice: name the run's "
                        "folder; weights of other programs can start a training (train.weights)");
  }
  Weights out;
  try {
    const Json about = Json::parse(file.metadata.at("about"));
    out.config = about.at("config");
    out.classes = about.at("classes").get<std::vector<std::string>>();
    out.from = path.string() + ", epoch " + std::to_string(about.at("epoch").get<std::int64_t>());
  } catch (const std::exception&) {
    throw UserError(ExitCode::data, path.string() + ": its metadata is damaged");
  }
  out.tensors = std::move(file.tensors);
  return out;
}

}  // namespace

TrainedDetector open_trained(const fs::path& what, const Catalog& catalog, const std::string& device) {
  std::error_code ignored;
  if (!fs::exists(what, ignored)) {
    throw UserError(ExitCode::data, what.string() + ": no such run folder or weight file");
  }
  const bool is_folder = fs::is_directory(what, ignored);
  Weights weights = !is_folder ? from_weight_file(what)
                    : fs::exists(what / "best.safetensors", ignored)
                        ? from_weight_file(what / "best.safetensors")
                        : from_checkpoint(CheckpointStore(what).load([](const std::string&) {}), what);
  TrainedDetector out;
  out.config = std::move(weights.config);
  out.classes = std::move(weights.classes);
  out.from = std::move(weights.from);
  prepare_tensor_process(0);
  const auto name = config_value<std::string>(out.config, "plugin.name");
  out.plugin = std::make_unique<LoadedPlugin>(LoadedPlugin::load(catalog.find(name, Catalog::Kind::detector).file));
  const plugin::DetectorInfo info = out.plugin->detector_info();
  out.detector = std::make_unique<DetectorHandle>(
      *out.plugin,
      plugin::DetectorConfig{static_cast<std::int64_t>(out.classes.size()),
                             config_value<std::int64_t>(out.config, "train.input_size"),
                             check_options(info.options, out.config["plugin"]["options"], "plugin.options")},
      0, device_of(device));
  load_module_state(out.detector->module(), weights.tensors);
  out.detector->module().eval();
  out.detector->prepare_for_inference();
  return out;
}

}  // namespace bdc::host
