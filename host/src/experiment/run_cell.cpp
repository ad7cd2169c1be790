#include "experiment/run_cell.h"

#include <fstream>

#include "app/user_error.h"
#include "bdc/core/method.h"
#include "bdc/core/metrics/aggregation_ap.h"
#include "console/progress.h"
#include "experiment/cell_data.h"
#include "experiment/network_crowd.h"
#include "experiment/trained_detectors.h"
#include "files/child_process.h"
#include "files/metrics_log.h"
#include "text/nearest.h"

namespace bdc::host {
namespace fs = std::filesystem;
namespace {

fs::path result_file(const Cell& cell, const CellSettings& settings) {
  return settings.folder / "cells" / (cell.id + ".json");
}

std::string option_text(const Json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

struct Judged {
  Json scores;
  double seconds = 0;
};

/// The method's own labels of the crowd, without a detector.
Judged judge_labels(const Cell& cell, const CellSettings& settings, bool evaluate) {
  const CrowdData crowd = cell_crowd(cell, settings.threads);
  const Json& method = cell.settings["method"];
  std::map<std::string, std::string> options;
  for (const auto& [key, value] : method["options"].items()) options[key] = option_text(value);
  std::unique_ptr<AggregationMethod> made;
  try {
    made = make_method(method["method"].get<std::string>(), options);
  } catch (const std::invalid_argument& e) {
    throw UserError(ExitCode::config, "method " + cell.method + ": " + e.what());
  }
  AggregationInput input;
  input.crowd = &crowd;
  input.threads = settings.threads;
  input.seed = static_cast<std::uint64_t>(cell.seed);
  const double started = now_seconds();
  const AggregationResult result = made->aggregate(input);
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
  for (const MethodEntry& entry : aggregation_methods()) {
    if (entry.name != method["method"]) continue;
    Json own = Json::object();
    for (const MethodOption& option : entry.options) {
      if (method["options"].contains(option.name)) own[option.name] = method["options"][option.name];
    }
    method["options"] = own;
    return judge_labels(cell, settings, false).seconds;
  }
  return std::nullopt;
}

/// NAME:key=value,... as `train --hook` takes it.
std::string hook_text(const Json& method) {
  std::string out = method["method"].get<std::string>();
  bool first = true;
  for (const auto& [key, value] : method["options"].items()) {
    out += (first ? ":" : ",") + key + "=" + option_text(value);
    first = false;
  }
  return out;
}

std::vector<std::string> train_words(const Cell& cell, const CellSettings& settings, const CellFiles& files) {
  const Json& detector = cell.settings["detector"];
  std::vector<std::string> words = {own_program(), "train", "--quiet"};
  words.insert(words.end(), settings.program_options.begin(), settings.program_options.end());
  if (detector.contains("config")) words.insert(words.end(), {"--config", detector["config"].get<std::string>()});
  if (detector.contains("plugin")) words.insert(words.end(), {"--plugin", detector["plugin"].get<std::string>()});
  words.insert(words.end(), {"--hook", hook_text(cell.settings["method"])});
  const auto set = [&](const std::string& key, const std::string& value) {
    words.insert(words.end(), {"--set", key + "=" + value});
  };
  for (const Json& sets : {cell.settings.value("set", Json::object()), detector.value("set", Json::object())}) {
    for (const auto& [key, value] : sets.items()) set(key, option_text(value));
  }
  set("train.seed", std::to_string(cell.seed));
  set("data.labels", files.crowd);
  if (!files.truth.empty()) set("data.truth", files.truth);
  set("data.images", files.images);
  set("data.val_labels", files.val_labels);
  set("data.val_images", files.val_images);
  set("output.folder", (settings.folder / "runs").string());
  set("output.name", cell.id);
  return words;
}

/// What was logged last; empty unless the run reached its last epoch.
Json final_metrics(const fs::path& run) {
  if (!fs::exists(run / "config.json")) return Json::object();
  const Json config = read_json_file(run / "config.json");
  Json last = latest_metrics(run);
  const bool done = last.contains("epoch") && last["epoch"] == config["train"]["epochs"] && last.contains("test/AP");
  return done ? last : Json::object();
}

std::string tail_of(const fs::path& log) {
  std::ifstream in(log);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  std::string out;
  for (std::size_t n = lines.size() > 5 ? lines.size() - 5 : 0; n < lines.size(); ++n)
    out += "\n  " + printable(lines[n]);
  return out;
}

/// The numbers of the cell's run, trained as far as is left to do.
Json train(const Cell& cell, const CellSettings& settings, const std::atomic<bool>& stop) {
  const fs::path run = settings.folder / "runs" / cell.id, log = settings.folder / "logs" / (cell.id + ".log");
  fs::create_directories(log.parent_path());
  Json last = final_metrics(run);
  if (!last.empty()) return last;
  const CellFiles files = cell_files(cell, settings.folder / "files", settings.threads);
  std::vector<std::string> words = train_words(cell, settings, files);
  if (fs::exists(run / "last.safetensors") || fs::exists(run / "previous.safetensors")) {
    words = {own_program(), "train", "--quiet", "--resume", run.string()};
    words.insert(words.end(), settings.program_options.begin(), settings.program_options.end());
  } else {
    fs::remove_all(run);  // interrupted before its first checkpoint
  }
  const int code = run_child(words, log, stop);
  if (stop) return Json::object();
  last = final_metrics(run);
  if (code != 0 || last.empty()) {
    throw UserError(ExitCode::failure, cell.id + ": training ended with exit code " + std::to_string(code) + "; " +
                                           log.string() + " ends with" + tail_of(log));
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

std::size_t count_images(const Cell& cell, const CellSettings& settings) {
  return cell_crowd(cell, settings.threads).images.size();
}

}  // namespace

std::optional<Json> finished_cell(const Cell& cell, const CellSettings& settings) {
  if (!fs::exists(result_file(cell, settings))) return std::nullopt;
  Json result = read_json_file(result_file(cell, settings));
  const bool complete =
      result.is_object() && result.contains("labels") && (!settings.times || result.contains("seconds"));
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
