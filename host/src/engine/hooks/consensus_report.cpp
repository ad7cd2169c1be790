#include "engine/hooks/consensus_report.h"

#include <cstdio>
#include <filesystem>
#include <sstream>

#include "bdc/base/atomic_file.h"
#include "bdc/crowd/coco.h"
#include "bdc/metrics/aggregation_ap.h"
#include "bdc/metrics/calibration.h"
#include "files/json_file.h"

namespace bdc::host {
namespace {

std::filesystem::path epoch_file(const plugin::RunContext& run, const char* folder, std::int64_t epoch) {
  char name[32];
  std::snprintf(name, sizeof(name), "epoch_%04lld.json", static_cast<long long>(epoch));
  const auto path = std::filesystem::path(run.run_folder) / folder;
  std::filesystem::create_directories(path);
  return path / name;
}

}  // namespace

void report_targets(const std::string& hook, const Targets& targets, plugin::RunContext& run) {
  run.metrics[hook + "/targets"] = static_cast<double>(targets.box.size());
  if (!run.has_truth) return;
  const CocoEvalResult result = evaluate_targets(targets, *run.labels);
  run.metrics[hook + "/AP"] = result.stats[0];
  run.metrics[hook + "/AP50"] = result.stats[1];
  run.metrics[hook + "/AP75"] = result.stats[2];
  const Calibration classes = calibrate_targets(targets, *run.labels).classes;
  if (classes.count == 0) return;
  run.metrics[hook + "/class_confidence"] = classes.mean_confidence();
  run.metrics[hook + "/class_accuracy"] = classes.share_correct();
  run.metrics[hook + "/class_calibration_error"] = classes.expected_error;
}

void write_annotators(const AnnotatorPosteriors& posteriors, std::int64_t epoch, plugin::RunContext& run) {
  if (run.rank != 0) return;
  std::ostringstream out;
  write_annotator_posteriors(out, posteriors);
  write_file_atomically(epoch_file(run, "annotators", epoch), out.str());
  write_file_atomically(std::filesystem::path(run.run_folder) / "annotators.json", out.str());
}

void write_labels(const Targets& targets, std::int64_t epoch, plugin::RunContext& run) {
  if (run.rank != 0) return;
  write_targets(targets, *run.labels, epoch_file(run, "labels", epoch).string());
}

}  // namespace bdc::host
