#include "studio/experiment/run_cell.h"

#include "bdc/base/atomic_file.h"
#include "bdc/base/now_seconds.h"
#include "bdc/base/user_error.h"
#include "bdc/learn/learners.h"
#include "bdc/metrics/aggregation_ap.h"
#include "files/metrics_log.h"
#include "studio/experiment/cell_data.h"
#include "studio/experiment/child_step.h"
#include "studio/experiment/network_crowd.h"
#include "studio/experiment/train_arguments.h"
#include "studio/experiment/trained_detectors.h"

namespace bdc::host {
namespace fs = std::filesystem;
namespace {

fs::path result_file(const Cell& cell, const CellSettings& settings) {
  return settings.folder / "cells" / (cell.id + ".json");
}

struct Judged {
  Json scores;
  double seconds = 0;
};

/// The method's own labels of the crowd, without a detector.
Judged judge_labels(const Cell& cell, const CellSettings& settings, bool evaluate) {
  const CrowdData crowd = cell_crowd(cell, settings.threads, settings.engine);
  const auto made = labels_method(cell);
  FitInput input;
  input.crowd = &crowd;
  input.threads = settings.threads;
  input.seed = static_cast<std::uint64_t>(cell.seed);
  const double started = now_seconds();
  const FitResult result = made->fit(input);
  Judged out;
  out.seconds = now_seconds() - started;
  out.scores = Json::object();
  if (!evaluate || !crowd.has_truth) return out;
  const std::vector<char> covered(crowd.truth_covers.begin(), crowd.truth_covers.end());
  const CocoEvalResult judged = evaluate_targets(result.targets, crowd, {}, covered);
  out.scores = {{"AP50", judged.stats[1]}, {"AP75", judged.stats[2]}, {"AP", judged.stats[0]}};
  return out;
}

/// The seconds that a hook's method needs for labels without a detector; options of the hook alone have no part in it.
/// Nothing for a hook that only works beside a detector.
std::optional<double> preprocessing_seconds(Cell cell, const CellSettings& settings) {
  Json& method = cell.settings["method"];
  for (const MethodInfo& entry : methods()) {
    if (entry.name != method["method"]) continue;
    Json own = Json::object();
    for (const OptionSpec& option : entry.options) {
      if (method["options"].contains(option.name)) own[option.name] = method["options"][option.name];
    }
    method["options"] = own;
    return judge_labels(cell, settings, false).seconds;
  }
  return std::nullopt;
}

/// What was logged last; empty unless the run reached its last epoch.
Json final_metrics(const fs::path& run) {
  if (!fs::exists(run / "config.json")) return Json::object();
  const Json config = read_json_file(run / "config.json");
  Json last = latest_metrics(run);
  const bool done = last.contains("epoch") && last["epoch"] == config["train"]["epochs"] && last.contains("test/AP");
  return done ? last : Json::object();
}

/// The numbers of the cell's run, trained as far as is left to do.
Json train(const Cell& cell, const CellSettings& settings, const std::atomic<bool>& stop) {
  const fs::path run = settings.folder / "runs" / cell.id;
  Json last = final_metrics(run);
  if (!last.empty()) return last;
  const CellFiles files = cell_files(cell, settings.folder / "files", settings.threads, settings.engine);
  std::vector<std::string> words = train_arguments(cell, settings, files);
  const bool saved = fs::exists(run / "last.safetensors") || fs::exists(run / "previous.safetensors");
  if (saved && fs::exists(run / "config.json")) {
    words = {"train", "--resume", run.string()};
    words.insert(words.end(), settings.program_options.begin(), settings.program_options.end());
  } else {
    fs::remove_all(run);  // interrupted before its first checkpoint, or not whole
  }
  try {
    run_step(words, settings, cell.id, stop);
  } catch (const CellFailure& e) {
    if (e.code() == ExitCode::data) forget_files(cell, settings.folder / "files");
    throw;
  }
  if (stop) return Json::object();
  last = final_metrics(run);
  if (last.empty()) {
    throw CellFailure(
        ExitCode::failure,
        cell.id + ": " + run.string() +
            " is finished but has no figures for its last epoch; remove it, and the same command trains it again");
  }
  return last;
}

Json scores_of(const Json& last, const std::string& prefix) {
  Json out = Json::object();
  for (const char* name : {"AP50", "AP75", "AP"}) {
    if (last.contains(prefix + name)) out[name] = last[prefix + name];
  }
  return out;
}

/// Whether a part of a result holds nothing but AP figures. Labels nobody can judge have none.
bool has_scores(const Json& result, const char* part) {
  if (!result.contains(part) || !result[part].is_object()) return false;
  for (const auto& [name, value] : result[part].items()) {
    if (!value.is_number() || !(value.get<double>() >= -1 && value.get<double>() <= 1)) return false;
  }
  return true;
}

std::size_t count_images(const Cell& cell, const CellSettings& settings) {
  return cell_crowd(cell, settings.threads, settings.engine).images.size();
}

}  // namespace

std::unique_ptr<Learner> labels_method(const Cell& cell) {
  const Json& method = cell.settings["method"];
  std::map<std::string, std::string> options;
  for (const auto& [key, value] : method["options"].items()) options[key] = value_text(value);
  const std::string place = "methods." + cell.method;
  try {
    return make_learner(method["method"].get<std::string>(), options, place + ".options");
  } catch (const std::invalid_argument& e) {
    const std::string what = e.what();
    throw UserError(ExitCode::config, what.rfind(place + ".options", 0) == 0 ? what : place + ": " + what);
  }
}

std::optional<Json> finished_cell(const Cell& cell, const CellSettings& settings) {
  const fs::path file = result_file(cell, settings);
  if (!fs::exists(file)) return std::nullopt;
  Json result;
  try {
    result = read_json_file(file);
  } catch (const UserError&) {
    return std::nullopt;
  }
  const bool complete = result.is_object() && has_scores(result, "labels") &&
                        (cell.detector.empty() || has_scores(result, "test")) &&
                        (!settings.times || result.contains("seconds"));
  if (!complete) return std::nullopt;
  return result;
}

std::optional<Json> run_cell(const Cell& described, const CellSettings& settings, const std::atomic<bool>& stop) {
  Json result = {{"cell", described.settings}};
  const std::optional<Cell> detected = with_trained_detectors(described, settings, stop);
  if (!detected) return std::nullopt;
  const std::optional<Cell> ready = with_network_crowd(*detected, settings, stop);
  if (!ready) return std::nullopt;
  const Cell& cell = *ready;
  if (cell.detector.empty()) {
    const Judged judged = judge_labels(cell, settings, true);
    result["labels"] = judged.scores;
    if (settings.times) result["seconds"] = {{"preprocessing", judged.seconds}};
  } else {
    const Json last = train(cell, settings, stop);
    if (stop) return std::nullopt;
    result["labels"] = scores_of(last, cell.settings["method"]["method"].get<std::string>() + "/");
    result["test"] = scores_of(last, "test/");
    if (settings.times) {
      result["seconds"] = Json::object();
      if (const auto seconds = preprocessing_seconds(cell, settings)) result["seconds"]["preprocessing"] = *seconds;
      const double speed = last.value("mean_images_per_second", 0.0);
      if (speed > 0) result["seconds"]["epoch"] = static_cast<double>(count_images(cell, settings)) / speed;
    }
  }
  fs::create_directories(settings.folder / "cells");
  write_file_atomically(result_file(cell, settings), result.dump(1) + "\n");
  return result;
}

}  // namespace bdc::host
