#include "engine/run.h"

#include <bdc/plugin/abi.h>
#include <torch/nn.h>
#include <torch/utils.h>

#include <algorithm>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <new>

#include "bdc/base/atomic_file.h"
#include "bdc/base/checksum.h"
#include "bdc/base/error.h"
#include "bdc/base/now_seconds.h"
#include "bdc/base/parallel.h"
#include "bdc/base/table.h"
#include "bdc/base/text.h"
#include "bdc/base/user_error.h"
#include "bdc/crowd/labels_digest.h"
#include "c10d/join.h"
#include "data/open_data.h"
#include "data/training_labels.h"
#include "engine/device.h"
#include "engine/hooks/build_hooks.h"
#include "engine/launch_mark.h"
#include "engine/read_weights.h"
#include "engine/tensor_process.h"
#include "engine/trainer.h"
#include "files/run_folder.h"
#include "files/run_lock.h"
#include "launch/launch.h"
#include "ranks/agree.h"

namespace bdc::host {
namespace {

/// Weights to begin with, from any file that read_weights understands.
void start_weights(const TrainConfig& train, DetectorHandle& detector, Progress& progress) {
  const std::string& file = train.weights;
  if (file.empty()) return;
  const LoadReport report = load_matching(detector.module(), read_weights(file));
  progress.line(file + ": " + report.text());
  if (report.loaded.empty()) {
    throw UserError(ExitCode::data, file + ": none of its tensors fits plugin '" + detector.name() + "'");
  }
  constexpr double least_share = 0.2;  // weights of another detector fit by chance; a backbone's nearly all fit
  if (report.share() < least_share && !train.partial_weights) {
    throw UserError(ExitCode::data,
                    file + ": only " + fixed(report.share() * 100, 1) + " % of its weights fit plugin '" +
                        detector.name() + "' (" + std::to_string(report.loaded.size()) +
                        " tensors), about as many as another detector's would by chance\n  advice: if this is "
                        "intended, add --set train.partial_weights=true");
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

/// The data of a run, with warnings of what cannot be learnt from its labels or in so few steps.
OpenedData open_training_data(const RunConfig& config, const TrainSettings& settings) {
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

/// Everything a run is made of before its folder is.
struct Prepared {
  Prepared(const RunConfig& config, const Catalog& catalog, Communicator& ranks, int local_rank)
      : settings(train_settings(config)),
        data(open_training_data(config, settings)),
        num_classes(static_cast<std::int64_t>(data.train->labels().classes.size())),
        plugin(LoadedPlugin::load(catalog.find(config.plugin.name, Catalog::Kind::detector).file)),
        info(plugin.detector_info()),
        hooks(build_hooks(config.hooks, catalog, info, data.train->labels(), ranks)),
        detector(plugin, {num_classes, settings.input_size, config.plugin.options}, settings.seed,
                 device_of(config.train.device, local_rank)) {}
  Prepared(const Prepared&) = delete;
  Prepared& operator=(const Prepared&) = delete;

  void start(const RunConfig& config, Progress& progress) {
    start_weights(config.train, detector, progress);
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
  HookList hooks;
  DetectorHandle detector;
};

/// local_size: processes that share this machine, and its cores where the config does not say.
void prepare_process(const RunConfig& config, int local_size = 1) {
  const int given = static_cast<int>(config.train.threads);
  prepare_tensor_process(given > 0 || local_size == 1 ? given : std::max(1, default_threads() / local_size));
}

/// What must be the same in all ranks for them to train one detector.
std::vector<Fact> facts_of(const TrainRequest& request, const std::optional<std::filesystem::path>& resume,
                           Prepared& run) {
  std::ifstream in(run.plugin.file(), std::ios::binary);
  const std::string library{std::istreambuf_iterator<char>(in), {}};
  Checksum sum;
  sum.add(library);
  return {{"version of bdc-host", BDC_VERSION},
          {"config", request.text},
          {"run to resume", resume ? resume->string() : "none"},
          {"plugin", run.plugin.name() + ", " + run.plugin.descriptor().fingerprint + ", checksum " + sum.text()},
          {"set of labels",
           labels_digest(run.data.train->labels()) + "; to evaluate on: " + labels_digest(run.data.test->labels())}};
}

void write_config(const std::filesystem::path& run_folder, const TrainRequest& request) {
  write_file_atomically(run_folder / "config.json", request.text + "\n");
}

/// The run to go on with: the one that was asked for, or, when the launcher has started the ranks anew, the one that
/// they were at before. Throws UserError (exit 3) when that one was begun with another config.
std::optional<std::filesystem::path> run_to_resume(const TrainRequest& request, Progress& progress,
                                                   const Launch& launch, Communicator& ranks) {
  if (request.resume || !launch.can_restart) return request.resume;
  std::string found;
  do_together(ranks, [&] {
    if (!ranks.is_first()) return;
    const LaunchMark mark(launch);
    const std::string& runs = request.config.output.folder;
    if (launch.restarts == 0) return mark.forget(runs);
    const auto run = mark.find(runs);
    if (!run) return;
    std::ifstream in(*run / "config.json", std::ios::binary);
    if (!in) write_config(*run, request);  // it ended between the two
    if (in && std::string(std::istreambuf_iterator<char>(in), {}) != request.text + "\n") {
      throw UserError(ExitCode::config, run->string() +
                                            " was begun by this launch with another config than now\n  "
                                            "advice: restore the config, or start a new launch");
    }
    found = run->string();
  });
  if (!ranks.is_alone()) found = ranks.gather(found).front();
  const std::string times = "restart " + std::to_string(launch.restarts) + " by " + launch.launcher + ": ";
  if (launch.restarts > 0) progress.line(times + (found.empty() ? "no run was begun before" : "goes on with " + found));
  if (found.empty()) return {};
  return found;
}

RunReport train_as_rank(const TrainRequest& request, const Catalog& catalog, Progress& progress,
                        const std::atomic<bool>& stop, const Launch& launch, Communicator& ranks);

}  // namespace

bool was_never_saved(const std::filesystem::path& folder) {
  if (!CheckpointStore(folder).is_empty()) return false;
  std::ifstream records(folder / "metrics.jsonl");
  std::string line;
  int count = 0;
  while (count < 2 && std::getline(records, line)) ++count;
  return count < 2;
}

RunPlan plan_training(const RunConfig& config, const Catalog& catalog, Progress& progress) {
  prepare_process(config);
  Prepared run(config, catalog, Communicator::alone(), 0);
  run.start(config, progress);
  RunPlan out;
  out.plugin = run.plugin.name();
  out.data = run.data.description;
  out.notes = run.data.notes;
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

RunReport run_training(const TrainRequest& request, const Catalog& catalog, Progress& progress,
                       const std::atomic<bool>& stop) {
  const Launch launch = recognise_launch(environment());
  const auto say = [](const std::string& text) { std::cerr << text + "\n" << std::flush; };
  const auto ranks = join_ranks(launch, static_cast<double>(request.config.train.timeout), say);
  if (!ranks->is_alone()) progress.line(description_of(launch));
  RunReport report;
  run_as_rank(*ranks, [&] { report = train_as_rank(request, catalog, progress, stop, launch, *ranks); });
  return report;
}

namespace {

RunReport train_as_rank(const TrainRequest& request, const Catalog& catalog, Progress& progress,
                        const std::atomic<bool>& stop, const Launch& launch, Communicator& ranks) {
  const RunConfig& config = request.config;
  const auto resume = run_to_resume(request, progress, launch, ranks);
  const double started = now_seconds();
  std::optional<RunLock> lock;
  std::unique_ptr<Prepared> prepared;
  std::optional<Checkpoint> checkpoint;
  do_together(ranks, [&] {
    if (resume && ranks.is_first()) lock.emplace(*resume);
    prepare_process(config, launch.local_size);
    prepared = std::make_unique<Prepared>(config, catalog, ranks, launch.local_rank);
    const bool has_checkpoint = resume && !CheckpointStore(*resume).is_empty();
    if (!has_checkpoint) return prepared->start(config, progress);
    checkpoint = CheckpointStore(*resume).load([&](const std::string& text) { progress.line(text); });
  });
  Prepared& run = *prepared;
  if (!ranks.is_alone()) {
    std::vector<Fact> facts = facts_of(request, resume, run);
    facts.emplace_back("checkpoint", !checkpoint ? "none"
                                                 : "epoch " + std::to_string(checkpoint->position.epoch) + ", step " +
                                                       std::to_string(checkpoint->position.step));
    require_agreement(ranks, facts);
    const torch::Device& device = run.detector.device();
    ranks.use_device(device.is_cuda() ? static_cast<int>(device.index()) : -1);
    if (ranks.takes_device_memory()) progress.line("gradients go from device to device through NCCL");
  }

  RunReport report;
  report.simulated = run.data.simulated;
  const CrowdData& test = run.data.test->labels();
  report.unjudged_images = has_true_boxes(test) ? 0 : test.images.size();
  do_together(ranks, [&] {
    if (resume) {
      report.folder = *resume;
    } else if (ranks.is_first()) {
      report.folder = make_run_folder(config.output.folder, config.output.name, run.plugin.name());
      lock.emplace(report.folder);
      if (launch.can_restart) LaunchMark(launch).write(report.folder);
      write_config(report.folder, request);
    }
  });
  if (!ranks.is_alone()) report.folder = ranks.gather(report.folder.string()).front();
  progress.line("training " + run.plugin.name() + " (" + std::to_string(run.weights()) + " weights) on " +
                run.data.description + ", " + std::to_string(run.num_classes) + " classes, " +
                std::to_string(torch::get_num_threads()) + " threads" +
                (run.detector.device().is_cpu() ? "" : ", " + run.detector.device().str()) +
                (run.settings.half_precision ? ", half precision" : "") +
                (run.hooks.names().empty() ? "" : ", hooks: " + join(run.hooks.names())));
  for (const auto& note : run.data.notes) progress.line("note: " + note);
  for (const auto& warning : run.data.warnings) progress.line("warning: " + warning);
  if (!ranks.is_alone() && !run.detector.shares_batches()) {
    progress.line("warning: plugin '" + run.plugin.name() +
                  "' does not know of ranks (bdc/plugin/ranks.h): gradients are the mean of what each rank would do "
                  "alone with its share of a batch, which is not what one process does with the whole");
  }
  if (!resume) progress.line("writing to " + report.folder.string());

  report.class_names = class_names(run.data.train->labels());
  Trainer trainer(
      {run.detector, *run.data.train, *run.data.test, run.hooks, progress, stop, report.folder, request.text, ranks},
      run.settings);
  report.fit = trainer.fit(checkpoint ? &*checkpoint : nullptr);
  report.seconds = now_seconds() - started;
  return report;
}

}  // namespace

}  // namespace bdc::host
