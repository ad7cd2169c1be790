#include "train/run.h"

#include <bdc/plugin/abi.h>
#include <torch/nn.h>
#include <torch/utils.h>

#include <algorithm>
#include <opencv2/core/utility.hpp>

#include "bdc/core/parallel.h"
#include "builtin_hooks/builtin_hooks.h"
#include "builtin_hooks/builtin_info.h"
#include "config/config.h"
#include "config/options.h"
#include "data/open_data.h"
#include "files/run_folder.h"
#include "text/nearest.h"
#include "train/read_weights.h"
#include "train/trainer.h"

namespace bdc::host {
namespace {

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

HookInstance build_builtin_hook(const plugin::HookInfo& info, const Json& entry, const HookServices& services) {
  const plugin::Options options = check_options(info.options, entry["options"], "hooks." + info.name + ".options");
  HookInstance instance{info.name, entry["priority"].get<int>(), builtin_needs_predictions(info.name, options),
                        nullptr};
  instance.hook = make_builtin_hook(info.name, options, services);
  return instance;
}

/// The schema of a hook, built in or from a plugin, and registry.json's options for it.
plugin::HookInfo hook_info(const std::string& name, const Catalog& catalog, Json& registry_options) {
  if (const plugin::HookInfo* builtin = find_builtin_hook(name)) {
    if (catalog.has(name, Catalog::Kind::hook)) {
      throw UserError(ExitCode::config, "hook '" + name + "' is built in, but " +
                                            catalog.find(name, Catalog::Kind::hook).file.string() +
                                            " has that name, too\n  advice: give the plugin's hook another name");
    }
    return *builtin;
  }
  const PluginEntry& entry = catalog.find(name, Catalog::Kind::hook);
  registry_options = entry.options;
  return LoadedPlugin::load(entry.file).hook_info();
}

HookList build_hooks(const Json& config, const Catalog& catalog, const plugin::DetectorInfo& detector,
                     std::int64_t num_classes, const HookServices& services) {
  std::vector<HookInstance> out;
  for (const auto& entry : config["hooks"]) {
    const auto name = entry["name"].get<std::string>();
    if (const plugin::HookInfo* builtin = find_builtin_hook(name)) {
      out.push_back(build_builtin_hook(*builtin, entry, services));
      continue;
    }
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

/// Weights to begin with, from any file that read_weights understands.
void start_weights(const Json& config, DetectorHandle& detector, Progress& progress) {
  const auto file = config_value<std::string>(config, "train.weights");
  if (file.empty()) return;
  const LoadReport report = load_matching(detector.module(), read_weights(file));
  progress.line(file + ": " + report.text());
  if (report.loaded.empty()) {
    throw UserError(ExitCode::data, file + ": none of its tensors fits plugin '" + detector.name() + "'");
  }
}

/// Widths and heights, in pixels of the input, of what the detector will be trained on: the annotators' boxes, or the
/// labels' own when there are no annotators.
torch::Tensor box_sizes(const CrowdData& labels, std::int64_t input_size) {
  std::vector<float> sizes;
  const auto add = [&](const Box& box, std::int32_t image) {
    const ImageRecord& record = labels.images[static_cast<std::size_t>(image)];
    const double edge = std::max(record.width, record.height);
    if (!box.valid() || edge <= 0) return;
    const double scale = static_cast<double>(input_size) / edge;
    sizes.push_back(static_cast<float>(box.width() * scale));
    sizes.push_back(static_cast<float>(box.height() * scale));
  };
  if (labels.annotators.empty()) {
    for (const TruthBox& t : labels.truth) add(t.box, t.image);
  } else {
    for (const Annotation& a : labels.annotations) add(a.box, a.image);
  }
  return torch::tensor(sizes).reshape({static_cast<std::int64_t>(sizes.size() / 2), 2});
}

}  // namespace

namespace {

/// Two hooks that both replace the targets would each undo the other's work.
void check_one_consensus(const Json& config) {
  std::string first;
  for (const auto& hook : config["hooks"]) {
    const auto name = hook["name"].get<std::string>();
    if (find_builtin_hook(name) == nullptr) continue;
    if (!first.empty()) {
      throw UserError(ExitCode::config,
                      "hooks '" + first + "' and '" + name + "' both make the targets; a run can have one of them");
    }
    first = name;
  }
}

}  // namespace

Json complete_config(Json config, const Catalog& catalog) {
  check_one_consensus(config);
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
    Json registry_options = Json::object();
    const plugin::HookInfo about = hook_info(hook_name, catalog, registry_options);
    check_capabilities(about, info);
    if (!hook.contains("priority")) hook["priority"] = about.priority;
    hook["options"] =
        to_json(check_options(about.options, layered(registry_options, hook.value("options", Json::object())),
                              "hooks." + hook_name + ".options"));
  }
  return config;
}

Json config_of_run(const std::filesystem::path& folder) {
  if (!std::filesystem::is_directory(folder)) {
    throw UserError(ExitCode::data, folder.string() + ": no such run folder");
  }
  return CheckpointStore(folder).load([](const std::string&) {}).config;
}

RunReport run_training(const Json& config, const Catalog& catalog, const std::optional<std::filesystem::path>& resume,
                       Progress& progress, const std::atomic<bool>& stop) {
  const double started = now_seconds();
  const auto threads = config_value<std::int64_t>(config, "train.threads");
  torch::set_num_threads(threads > 0 ? static_cast<int>(threads) : default_threads());
  cv::setNumThreads(0);  // batches are loaded in parallel already

  const TrainSettings settings = train_settings(config);
  const OpenedData data = open_data(config);
  const Dataset &train = *data.train, &test = *data.test;
  const auto num_classes = static_cast<std::int64_t>(train.labels().classes.size());

  const LoadedPlugin plugin =
      LoadedPlugin::load(catalog.find(config_value<std::string>(config, "plugin.name"), Catalog::Kind::detector).file);
  const plugin::DetectorInfo info = plugin.detector_info();
  HookServices services;
  services.labels = &train.labels();
  services.threads = torch::get_num_threads();
  HookList hooks = build_hooks(config, catalog, info, num_classes, services);
  DetectorHandle detector(
      plugin,
      {num_classes, settings.input_size, check_options(info.options, config["plugin"]["options"], "plugin.options")},
      settings.seed);

  if (!resume) {
    start_weights(config, detector, progress);
    detector.adapt_to_boxes(box_sizes(train.labels(), settings.input_size));
  }

  RunReport report;
  report.simulated = data.simulated;
  std::optional<Checkpoint> checkpoint;
  if (resume) {
    report.folder = *resume;
    checkpoint = CheckpointStore(*resume).load([&](const std::string& text) { progress.line(text); });
  } else {
    report.folder = make_run_folder(config_value<std::string>(config, "output.folder"),
                                    config_value<std::string>(config, "output.name"), plugin.name());
    write_file_atomically(report.folder / "config.json", config.dump(2) + "\n");
  }
  std::int64_t weights = 0;
  for (const auto& p : detector.module().parameters()) weights += p.numel();
  progress.line("training " + plugin.name() + " (" + std::to_string(weights) + " weights) on " + data.description +
                ", " + std::to_string(num_classes) + " classes, " + std::to_string(torch::get_num_threads()) +
                " threads" + (hooks.names().empty() ? "" : ", hooks: " + join(hooks.names())));
  for (const auto& warning : data.warnings) progress.line("warning: " + warning);
  progress.line((resume ? "going on with " : "writing to ") + report.folder.string());

  report.class_names = class_names(train.labels());
  Trainer trainer({detector, train, test, hooks, progress, stop, report.folder, config}, settings);
  services.predict_training_set = [&](const auto& sink) { trainer.predict_training_set(sink); };
  report.fit = trainer.fit(checkpoint ? &*checkpoint : nullptr);
  report.seconds = now_seconds() - started;
  return report;
}

}  // namespace bdc::host
