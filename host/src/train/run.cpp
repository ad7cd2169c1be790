#include "train/run.h"

#include <bdc/plugin/abi.h>
#include <torch/nn.h>
#include <torch/utils.h>

#include <algorithm>
#include <fstream>

#include "builtin_hooks/builtin_hooks.h"
#include "builtin_hooks/builtin_info.h"
#include "config/config.h"
#include "config/options.h"
#include "data/open_data.h"
#include "data/training_labels.h"
#include "files/run_folder.h"
#include "files/run_lock.h"
#include "text/nearest.h"
#include "train/device.h"
#include "train/read_weights.h"
#include "train/tensor_process.h"
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

bool is_capable(const plugin::DetectorInfo& info, const std::string& capability) {
  return std::find(info.capabilities.begin(), info.capabilities.end(), capability) != info.capabilities.end();
}

/// Detectors that have a capability, by name. Loads every detector that can be loaded; the others cannot help anyway.
std::vector<std::string> detectors_with(const std::string& capability, const Catalog& catalog) {
  std::vector<std::string> out;
  for (const PluginEntry& entry : catalog.entries()) {
    if (!entry.problem.empty() || !catalog.has(entry.name, Catalog::Kind::detector)) continue;
    try {
      const auto info = LoadedPlugin::load(catalog.find(entry.name, Catalog::Kind::detector).file).detector_info();
      if (is_capable(info, capability)) out.push_back(entry.name);
    } catch (const UserError&) {
    }
  }
  return out;
}

void check_half_precision(const Json& config, const plugin::DetectorInfo& info) {
  if (!config_value<bool>(config, "train.amp") || is_capable(info, "half_precision")) return;
  throw UserError(ExitCode::config, "train.amp: plugin '" + info.name +
                                        "' does not say that it can compute in half precision\n  advice: leave out "
                                        "--amp, or add the capability \"half_precision\" to the plugin");
}

void check_capabilities(const plugin::HookInfo& hook, const plugin::DetectorInfo& detector, const Catalog& catalog) {
  for (const auto& need : hook.needs_capabilities) {
    if (!is_capable(detector, need)) {
      const auto others = detectors_with(need, catalog);
      throw UserError(ExitCode::config,
                      "hook '" + hook.name + "' needs a detector with '" + need + "', which plugin '" + detector.name +
                          "' has not" +
                          (detector.capabilities.empty() ? "" : " (it has: " + join(detector.capabilities) + ")") +
                          (others.empty() ? "\n  advice: no plugin that can be seen from here has it"
                                          : "\n  advice: use one that has it: --plugin " + join(others, " or ")));
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

/// The schema of a hook, built in or from a plugin, and registry.json's entry for it, or null.
plugin::HookInfo hook_info(const std::string& name, const Catalog& catalog, const PluginEntry*& registered) {
  if (const plugin::HookInfo* builtin = find_builtin_hook(name)) {
    if (catalog.has(name, Catalog::Kind::hook)) {
      throw UserError(ExitCode::config, "hook '" + name + "' is built in, but " +
                                            catalog.find(name, Catalog::Kind::hook).file.string() +
                                            " has that name, too\n  advice: give the plugin's hook another name");
    }
    return *builtin;
  }
  std::vector<std::string> built_in;
  for (const plugin::HookInfo& hook : builtin_hooks()) built_in.push_back(hook.name);
  registered = &catalog.find(name, Catalog::Kind::hook, built_in);
  return LoadedPlugin::load(registered->file).hook_info();
}

/// Checks registry.json's options on their own, so that an error names their place.
void check_registered(const std::vector<plugin::OptionSpec>& schema, const PluginEntry& entry) {
  if (!entry.place.empty()) (void)check_options(schema, entry.options, entry.place + ".options");
}

/// Likewise every layer's options of the plugin.
void check_plugin_layers(const std::vector<plugin::OptionSpec>& schema, const std::vector<ConfigLayer>& layers) {
  for (const ConfigLayer& layer : layers) {
    const Json plugin = layer.content.value("plugin", Json::object());
    if (plugin.contains("options")) {
      (void)check_options(schema, plugin["options"], layer.source + ": plugin.options");
    }
  }
}

/// Likewise every layer's options of a hook.
void check_hook_layers(const plugin::HookInfo& info, const std::vector<ConfigLayer>& layers) {
  for (const ConfigLayer& layer : layers) {
    for (const Json& hook : layer.content.value("hooks", Json::array())) {
      if (hook["name"] != info.name || !hook.contains("options")) continue;
      (void)check_options(info.options, hook["options"], layer.source + ": hooks." + info.name + ".options");
    }
  }
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
    check_capabilities(info, detector, catalog);
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

Json complete_config(Json config, const Catalog& catalog, const std::vector<ConfigLayer>& layers) {
  check_one_consensus(config);
  const auto name = config_value<std::string>(config, "plugin.name");
  if (name.empty()) {
    throw UserError(ExitCode::usage,
                    "no plugin was named; use --plugin NAME or plugin.name in a config (see `bdc-host plugins list`)");
  }
  const PluginEntry& entry = catalog.find(name, Catalog::Kind::detector);
  const plugin::DetectorInfo info = LoadedPlugin::load(entry.file).detector_info();
  check_registered(info.options, entry);
  check_plugin_layers(info.options, layers);
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
  check_half_precision(config, info);
  for (auto& hook : config["hooks"]) {
    const auto hook_name = hook["name"].get<std::string>();
    const PluginEntry* registered = nullptr;
    const plugin::HookInfo about = hook_info(hook_name, catalog, registered);
    if (registered != nullptr) check_registered(about.options, *registered);
    check_hook_layers(about, layers);
    const Json registry_options = registered != nullptr ? registered->options : Json::object();
    check_capabilities(about, info, catalog);
    if (!hook.contains("priority")) hook["priority"] = about.priority;
    hook["options"] =
        to_json(check_options(about.options, layered(registry_options, hook.value("options", Json::object())),
                              "hooks." + hook_name + ".options"));
  }
  return config;
}

namespace {

/// The data of a run, with warnings of what cannot be learnt from its labels or in so few steps.
OpenedData open_training_data(const Json& config, const TrainSettings& settings) {
  OpenedData data = open_data(config);
  const auto more = check_training_labels(data.train->labels(), settings.input_size);
  data.warnings.insert(data.warnings.begin(), more.begin(), more.end());
  const std::int64_t steps = settings.steps_per_epoch(data.train->size()) * settings.epochs;
  // Of the default nobody expects anything in a run of a few steps.
  const std::int64_t warmup = settings.learning_rate.warmup_steps;
  if (warmup > steps && warmup != LearningRate{}.warmup_steps) {
    data.warnings.push_back("train.warmup_steps=" + std::to_string(warmup) + " is more than the " +
                            std::to_string(steps) + " steps of the run; train.learning_rate is never reached");
  }
  if (!data.unmeasured.empty()) data.warnings.push_back(data.unmeasured);
  return data;
}

/// Everything a run is made of before its folder is. Hooks look at `services`, so it stays where it is.
struct Prepared {
  Prepared(const Json& config, const Catalog& catalog)
      : settings(train_settings(config)),
        data(open_training_data(config, settings)),
        num_classes(static_cast<std::int64_t>(data.train->labels().classes.size())),
        plugin(LoadedPlugin::load(
            catalog.find(config_value<std::string>(config, "plugin.name"), Catalog::Kind::detector).file)),
        info(plugin.detector_info()),
        services{&data.train->labels(), torch::get_num_threads(), {}, {}},
        hooks(build_hooks(config, catalog, info, num_classes, services)),
        detector(plugin,
                 {num_classes, settings.input_size,
                  check_options(info.options, config["plugin"]["options"], "plugin.options")},
                 settings.seed, device_of(config_value<std::string>(config, "train.device"))) {}
  Prepared(const Prepared&) = delete;
  Prepared& operator=(const Prepared&) = delete;

  void start(const Json& config, Progress& progress) {
    start_weights(config, detector, progress);
    detector.adapt_to_boxes(box_sizes(data.train->labels(), settings.input_size));
  }
  [[nodiscard]] std::int64_t weights() {
    std::int64_t count = 0;
    for (const auto& p : detector.module().parameters()) count += p.numel();
    return count;
  }

  TrainSettings settings;
  OpenedData data;
  std::int64_t num_classes;
  LoadedPlugin plugin;
  plugin::DetectorInfo info;
  HookServices services;
  HookList hooks;
  DetectorHandle detector;
};

/// Whether nothing is lost when the run begins again: it was stopped before its first checkpoint, which follows the
/// first epoch's record at once. A run with more records had checkpoints, and somebody took them away.
bool never_saved(const std::filesystem::path& folder) {
  if (!CheckpointStore(folder).is_empty()) return false;
  std::ifstream records(folder / "metrics.jsonl");
  std::string line;
  int count = 0;
  while (count < 2 && std::getline(records, line)) ++count;
  return count < 2;
}

/// Whether a run's config.json says something else than the config in its checkpoint.
bool differs(const std::filesystem::path& file, const Json& config) {
  try {
    return read_json_file(file) != config;
  } catch (const UserError&) {
    return true;
  }
}

void prepare_process(const Json& config) {
  prepare_tensor_process(static_cast<int>(config_value<std::int64_t>(config, "train.threads")));
}

}  // namespace

ResumedConfig config_of_run(const std::filesystem::path& folder, const Catalog& catalog) {
  if (!std::filesystem::is_directory(folder)) {
    throw UserError(ExitCode::data, folder.string() + ": no such run folder");
  }
  const std::filesystem::path file = folder / "config.json";
  std::error_code ignored;
  const bool has_file = std::filesystem::exists(file, ignored);
  if (has_file && never_saved(folder)) {
    ConfigRequest own;
    own.file = file;
    std::vector<ConfigLayer> layers;
    Json config = resolve_config(own, &layers);
    return {complete_config(std::move(config), catalog, layers),
            {folder.string() + ": was stopped before its first checkpoint, so it begins again"}};
  }
  ResumedConfig out{CheckpointStore(folder).load([](const std::string&) {}).config, {}};
  if (has_file && differs(file, out.config)) {
    out.notes.push_back("warning: " + file.string() +
                        " is not what the run began with; a run keeps its settings, so the checkpoint's are used\n"
                        "  advice: a new run takes them: bdc-host train --config " +
                        file.string() + " --set output.name=");
  }
  return out;
}

RunPlan plan_training(const Json& config, const Catalog& catalog, Progress& progress) {
  prepare_process(config);
  Prepared run(config, catalog);
  run.start(config, progress);
  RunPlan out;
  out.plugin = run.plugin.name();
  out.data = run.data.description;
  out.warnings = run.data.warnings;
  out.hooks = run.hooks.names();
  out.class_names = class_names(run.data.train->labels());
  out.train_images = run.data.train->labels().images.size();
  out.test_images = run.data.test->labels().images.size();
  out.weights = run.weights();
  for (const auto& group : run.detector.parameter_groups()) {
    RunPlan::Group row;
    row.name = group.name;
    row.tensors = group.parameters.size();
    for (const auto& p : group.parameters) row.weights += p.numel();
    row.learning_rate = run.settings.learning_rate.start * group.learning_rate_factor;
    row.weight_decay = run.settings.optimizer.weight_decay * group.weight_decay_factor;
    out.groups.push_back(std::move(row));
  }
  return out;
}

RunReport run_training(const Json& config, const Catalog& catalog, const std::optional<std::filesystem::path>& resume,
                       Progress& progress, const std::atomic<bool>& stop) {
  const double started = now_seconds();
  std::optional<RunLock> lock;
  if (resume) lock.emplace(*resume);
  prepare_process(config);
  Prepared run(config, catalog);
  const bool has_checkpoint = resume && !CheckpointStore(*resume).is_empty();
  if (!has_checkpoint) run.start(config, progress);

  RunReport report;
  report.simulated = run.data.simulated;
  const CrowdData& test = run.data.test->labels();
  report.unjudged_images = has_true_boxes(test) ? 0 : test.images.size();
  std::optional<Checkpoint> checkpoint;
  if (resume) {
    report.folder = *resume;
    if (has_checkpoint) {
      checkpoint = CheckpointStore(*resume).load([&](const std::string& text) { progress.line(text); });
    }
  } else {
    report.folder = make_run_folder(config_value<std::string>(config, "output.folder"),
                                    config_value<std::string>(config, "output.name"), run.plugin.name());
    lock.emplace(report.folder);
    write_file_atomically(report.folder / "config.json", config.dump(2) + "\n");
  }
  progress.line("training " + run.plugin.name() + " (" + std::to_string(run.weights()) + " weights) on " +
                run.data.description + ", " + std::to_string(run.num_classes) + " classes, " +
                std::to_string(torch::get_num_threads()) + " threads" +
                (run.detector.device().is_cpu() ? "" : ", " + run.detector.device().str()) +
                (run.settings.half_precision ? ", half precision" : "") +
                (run.hooks.names().empty() ? "" : ", hooks: " + join(run.hooks.names())));
  for (const auto& warning : run.data.warnings) progress.line("warning: " + warning);
  if (!resume) progress.line("writing to " + report.folder.string());

  report.class_names = class_names(run.data.train->labels());
  Trainer trainer({run.detector, *run.data.train, *run.data.test, run.hooks, progress, stop, report.folder, config},
                  run.settings);
  run.services.warn = [&](const std::string& text) { progress.line("warning: " + text); };
  run.services.predict_training_set = [&](const auto& sink) { trainer.predict_training_set(sink); };
  report.fit = trainer.fit(checkpoint ? &*checkpoint : nullptr);
  report.seconds = now_seconds() - started;
  return report;
}

}  // namespace bdc::host
