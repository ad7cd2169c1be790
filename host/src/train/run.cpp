#include "train/run.h"

#include <bdc/plugin/abi.h>
#include <torch/nn.h>
#include <torch/utils.h>

#include <algorithm>
#include <opencv2/core/utility.hpp>

#include "bdc/core/parallel.h"
#include "config/config.h"
#include "config/options.h"
#include "files/run_folder.h"
#include "shapes/shapes.h"
#include "text/nearest.h"
#include "train/trainer.h"

namespace bdc::host {
namespace {

constexpr const char* kCheckpointName = "last.safetensors";

/// registry.json's options below the config's.
Json layered(const Json& registry, const Json& config) {
  Json out = registry;
  for (const auto& [key, value] : config.items()) out[key] = value;
  return out;
}

template <class Value>
void fill(Json& at, const Value& value) {
  if (at.is_null()) at = value;
}

void check_input_size(const Json& config, const plugin::DetectorInfo& info) {
  const auto size = config_value<std::int64_t>(config, "train.input_size");
  if (size % info.stride != 0 || size < info.min_input_size) {
    throw UserError(ExitCode::config, "train.input_size: is " + std::to_string(size) + ", but plugin '" + info.name +
                                          "' needs a multiple of " + std::to_string(info.stride) + ", at least " +
                                          std::to_string(info.min_input_size));
  }
}

void check_capabilities(const plugin::HookInfo& hook, const plugin::DetectorInfo& detector) {
  for (const auto& need : hook.needs_capabilities) {
    if (std::find(detector.capabilities.begin(), detector.capabilities.end(), need) == detector.capabilities.end()) {
      throw UserError(ExitCode::config,
                      "hook '" + hook.name + "' needs a detector with '" + need + "', which plugin '" + detector.name +
                          "' has not" +
                          (detector.capabilities.empty() ? "" : " (it has: " + join(detector.capabilities) + ")"));
    }
  }
}

HookList build_hooks(const Json& config, const Catalog& catalog, const plugin::DetectorInfo& detector,
                     std::int64_t num_classes) {
  std::vector<HookInstance> out;
  for (const auto& entry : config["hooks"]) {
    const auto name = entry["name"].get<std::string>();
    const LoadedPlugin plugin = LoadedPlugin::load(catalog.find(name, Catalog::Kind::hook).file);
    const plugin::HookInfo info = plugin.hook_info();
    check_capabilities(info, detector);
    const plugin::HookConfig hook_config{num_classes,
                                         check_options(info.options, entry["options"], "hooks." + name + ".options")};
    HookInstance instance{name, entry["priority"].get<int>(), info.needs_predictions, nullptr};
    call_plugin("hook '" + name + "'", "its constructor",
                [&] { instance.hook.reset(plugin.descriptor().create_hook(hook_config)); });
    if (!instance.hook) throw UserError(ExitCode::plugin_threw, "hook '" + name + "': its factory returned null");
    out.push_back(std::move(instance));
  }
  return HookList(std::move(out));
}

/// Training and held-out shapes: the same settings, but seeds that no other training seed leads to.
ShapesData shapes(const Json& config, bool test) {
  const auto integer = [&](const char* key) {
    return config_value<std::int64_t>(config, std::string("data.shapes.") + key);
  };
  return ShapesData({integer(test ? "test_images" : "train_images"), integer("classes"), integer("size"),
                     integer("max_objects"), static_cast<std::uint64_t>(integer("seed")) * 2 + (test ? 1 : 0)});
}

}  // namespace

Json complete_config(Json config, const Catalog& catalog) {
  const auto name = config_value<std::string>(config, "plugin.name");
  if (name.empty()) {
    throw UserError(ExitCode::usage,
                    "no plugin was named; use --plugin NAME or plugin.name in a config (see `bdc-host plugins list`)");
  }
  const PluginEntry& entry = catalog.find(name, Catalog::Kind::detector);
  const plugin::DetectorInfo info = LoadedPlugin::load(entry.file).detector_info();
  config["plugin"]["options"] =
      to_json(check_options(info.options, layered(entry.options, config["plugin"]["options"]), "plugin.options"));
  Json& train = config["train"];
  fill(train["batch_size"], info.optimizer.batch_size);
  fill(train["input_size"], info.input_size);
  fill(train["optimizer"], info.optimizer.kind);
  fill(train["learning_rate"], info.optimizer.learning_rate);
  fill(train["momentum"], info.optimizer.momentum);
  fill(train["weight_decay"], info.optimizer.weight_decay);
  check_input_size(config, info);
  for (auto& hook : config["hooks"]) {
    const auto hook_name = hook["name"].get<std::string>();
    const PluginEntry& hook_entry = catalog.find(hook_name, Catalog::Kind::hook);
    const plugin::HookInfo hook_info = LoadedPlugin::load(hook_entry.file).hook_info();
    check_capabilities(hook_info, info);
    if (!hook.contains("priority")) hook["priority"] = hook_info.priority;
    hook["options"] =
        to_json(check_options(hook_info.options, layered(hook_entry.options, hook.value("options", Json::object())),
                              "hooks." + hook_name + ".options"));
  }
  return config;
}

Json config_of_run(const std::filesystem::path& folder) {
  if (!std::filesystem::is_directory(folder)) {
    throw UserError(ExitCode::data, folder.string() + ": no such run folder");
  }
  return read_checkpoint(folder / kCheckpointName).config;
}

RunReport run_training(const Json& config, const Catalog& catalog, const std::optional<std::filesystem::path>& resume,
                       Progress& progress, const std::atomic<bool>& stop) {
  const double started = now_seconds();
  const auto threads = config_value<std::int64_t>(config, "train.threads");
  torch::set_num_threads(threads > 0 ? static_cast<int>(threads) : default_threads());
  cv::setNumThreads(0);  // batches are loaded in parallel already

  const TrainSettings settings = train_settings(config);
  const ShapesData train = shapes(config, false), test = shapes(config, true);
  const auto num_classes = static_cast<std::int64_t>(train.labels().classes.size());

  const LoadedPlugin plugin =
      LoadedPlugin::load(catalog.find(config_value<std::string>(config, "plugin.name"), Catalog::Kind::detector).file);
  const plugin::DetectorInfo info = plugin.detector_info();
  HookList hooks = build_hooks(config, catalog, info, num_classes);
  DetectorHandle detector(
      plugin,
      {num_classes, settings.input_size, check_options(info.options, config["plugin"]["options"], "plugin.options")},
      settings.seed);

  RunReport report;
  std::optional<Checkpoint> checkpoint;
  if (resume) {
    report.folder = *resume;
    checkpoint = read_checkpoint(*resume / kCheckpointName);
  } else {
    report.folder = make_run_folder(config_value<std::string>(config, "output.folder"),
                                    config_value<std::string>(config, "output.name"), plugin.name());
    write_file_atomically(report.folder / "config.json", config.dump(2) + "\n");
  }
  std::int64_t weights = 0;
  for (const auto& p : detector.module().parameters()) weights += p.numel();
  progress.line("training " + plugin.name() + " (" + std::to_string(weights) + " weights) on " +
                std::to_string(train.size()) + " built-in images of shapes, " + std::to_string(num_classes) +
                " classes, " + std::to_string(torch::get_num_threads()) + " threads" +
                (hooks.names().empty() ? "" : ", hooks: " + join(hooks.names())));
  progress.line((resume ? "going on with " : "writing to ") + report.folder.string());

  for (const auto& c : train.labels().classes) report.class_names.push_back(c.name);
  Trainer trainer({detector, train, test, hooks, progress, stop, report.folder, config}, settings);
  report.fit = trainer.fit(checkpoint ? &*checkpoint : nullptr);
  report.seconds = now_seconds() - started;
  return report;
}

}  // namespace bdc::host
