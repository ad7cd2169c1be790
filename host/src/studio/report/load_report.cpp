#include "studio/report/load_report.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>

#include "bdc/base/error.h"
#include "bdc/base/table.h"
#include "bdc/base/text.h"
#include "bdc/base/user_error.h"
#include "bdc/crowd/coco.h"
#include "bdc/learn/learners.h"
#include "files/metrics_log.h"
#include "studio/report/experiment_table.h"

namespace bdc::host {
namespace fs = std::filesystem;
namespace {

/// The last part of a path: a page that is sent to others does not tell where its files were kept.
std::string name_of_path(const fs::path& path) {
  const fs::path whole = fs::absolute(path).lexically_normal();
  return (whole.has_filename() ? whole : whole.parent_path()).filename().string();
}

void say(const ReportRequest& request, const std::string& text) {
  if (request.progress) request.progress(text);
}

/// Posteriors of the crowd's annotators. Who is missing is noted; that all are is an error.
AnnotatorPosteriors read_posteriors(const std::string& file, const CrowdData& crowd, ReportData& data) {
  Alignment how;
  AnnotatorPosteriors out = aligned_with(read_annotator_posteriors(file), crowd, &how);
  if (how.matched == 0) {
    throw DataError(file + ": expected annotators of these labels, found none of them; annotators are matched by id");
  }
  if (how.by_name) {
    data.notes.push_back(file +
                         ": its ids belong to different people than in the labels, so annotators are matched by name.");
  }
  if (how.matched < crowd.annotators.size()) {
    data.notes.push_back(file + " has " + std::to_string(how.matched) + " of the " +
                         counted(crowd.annotators.size(), "annotator") +
                         "; the others are left out of the tables of annotators and groups.");
  }
  return out;
}

void add_consensus(const ReportRequest& request, ReportData& data) {
  for (const std::string& text : request.consensus) {
    const ConsensusFile c = consensus_file(text);
    data.methods.push_back({c.name, read_targets(c.file, data.crowd)});
  }
}

std::string round_text(const bdc::Progress& p) {
  if (p.max_rounds > 0) {
    return "round " + std::to_string(p.round) + " (at most " + std::to_string(p.max_rounds) + ")  change " +
           fixed(p.change * 100, 4) + " %";
  }
  return "image " + std::to_string(p.images_done) + "/" + std::to_string(p.images);
}

/// The consensus of methods that are run here, named with a remark. The first that learns annotators gives their
/// posteriors.
void run_methods(const ReportRequest& request, const std::string& remark, ReportData& data) {
  for (const std::string& name : request.methods) {
    say(request, "aggregating: " + name);
    FitInput input;
    input.crowd = &data.crowd;
    input.threads = request.threads;
    input.progress = [&](const bdc::Progress& p) { say(request, "aggregating: " + name + "  " + round_text(p)); };
    std::unique_ptr<Learner> method;
    try {
      method = make_learner(name);
    } catch (const std::invalid_argument& e) {
      throw UserError(ExitCode::usage, e.what());
    }
    FitResult result = method->fit(input);
    for (const auto& warning : result.warnings) data.notes.push_back(name + ": " + warning + ".");
    data.methods.push_back({name + remark, std::move(result.targets)});
    if (result.posteriors && !data.posteriors) {
      data.posteriors = std::move(result.posteriors);
      data.learnt_by = name + remark + ", run for this report";
    }
    if (data.bound.empty()) data.bound = std::move(result.bound);
  }
}

void open_pictures(const ReportRequest& request, ReportData& data) {
  if (request.images.empty()) return;
  std::vector<std::string> warnings;
  data.pictures = request.open_pictures(data.crowd, request.images, warnings);
  for (const auto& warning : warnings) {
    data.notes.push_back(
        "Some pictures cannot be shown; their labels still count and are drawn on a blank background. " + warning);
  }
}

CrowdData read_labels(const ReportRequest& request) {
  ReadOptions reading = request.reading;
  if (reading.image_folder.empty()) reading.image_folder = request.images;
  std::error_code ignored;
  const std::string& first = request.inputs[0];
  if (reading.format.empty() && fs::is_directory(first, ignored) && detected_format(first).empty()) {
    throw DataError(
        first +
        ": expected labels, the folder of a run (it has a config.json) or of an experiment (it has a "
        "table.json), found none of them; give JSON labels as files, and labels of another format with --format");
  }
  return read_crowd(request.inputs, reading);
}

/// What the reader would miss otherwise.
void note_what_is_missing(ReportData& data) {
  if (data.crowd.annotations.empty()) {
    data.notes.push_back(
        "No box was drawn: there is nothing to compare or to label again, and what is said about annotators is what "
        "was assumed at the start.");
  } else if (data.crowd.annotators.size() == 1) {
    data.notes.push_back(
        "There is only one annotator and nobody to compare them with: what is said about them is little more than what "
        "was assumed at the start, and disagreement is not shown.");
  }
  if (!data.posteriors) {
    data.notes.push_back(
        "Nothing here has learnt what the annotators are like (bdc does; pass what it wrote with --annotators), so "
        "annotators and groups are left out.");
  }
}

ReportData labels_report(const ReportRequest& request) {
  ReportData data;
  say(request, "reading " + request.inputs[0]);
  data.crowd = read_labels(request);
  if (data.crowd.images.empty()) throw DataError(request.inputs[0] + ": expected images, found none");
  if (!request.truth.empty()) (void)attach_truth(data.crowd, request.truth);
  add_consensus(request, data);
  if (!request.annotators.empty()) {
    data.posteriors = read_posteriors(request.annotators, data.crowd, data);
    data.learnt_by = fs::path(request.annotators).filename().string();
  }
  if (data.methods.empty()) {
    if (data.crowd.annotators.empty()) {
      throw DataError(request.inputs[0] +
                      ": the labels have no annotators; a report needs to know who drew what: where the files do not "
                      "say, give the name with --annotator NAME");
    }
    run_methods(request, "", data);
  }
  open_pictures(request, data);
  note_what_is_missing(data);
  data.title = "Labels of " + counted(data.crowd.annotators.size(), "annotator");
  std::vector<std::string> names;
  for (const std::string& input : request.inputs) names.push_back(name_of_path(input));
  data.source = join(names);
  return data;
}

/// The newest labels that a run saved (hook option save_labels), or none.
fs::path newest_labels(const fs::path& run) {
  fs::path newest;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(run / "labels", ignored)) {
    if (entry.path().extension() == ".json") newest = std::max(newest, entry.path());
  }
  return newest;
}

/// "bdc, epoch 3" for the file epoch_0003.json.
std::string labels_name(const std::string& hook, const fs::path& file) {
  const std::string stem = file.stem().string(), digits = stem.substr(std::min(stem.size(), stem.rfind('_') + 1));
  const auto first = digits.find_first_not_of('0');
  if (stem.rfind("epoch_", 0) != 0 || digits.empty() || digits.find_first_not_of("0123456789") != std::string::npos) {
    return hook + ", " + stem;
  }
  return hook + ", epoch " + (first == std::string::npos ? "0" : digits.substr(first));
}

/// What is wrong with a run's metrics.jsonl, if anything: a damaged one would go unnoticed.
void check_metrics(const fs::path& run, ReportData& data) {
  const std::string name = "metrics.jsonl";
  std::ifstream in(run / name, std::ios::binary);
  if (!in) {
    data.notes.push_back(name + " is missing from the run's folder, so there are no curves.");
    return;
  }
  std::size_t lines = 0, wrong = 0;
  for (std::string line; std::getline(in, line);) ++lines;
  for (const Json& record : data.metrics) {
    for (const auto& [key, value] : record.items()) wrong += value.is_number() || value.is_null() ? 0 : 1;
  }
  if (data.metrics.empty()) {
    data.notes.push_back(name + " holds no record of an epoch" + (lines > 0 ? " that can be read" : "") +
                         ", so there are no curves.");
  } else if (data.metrics.size() < lines) {
    data.notes.push_back(name + ": " + std::to_string(lines - data.metrics.size()) + " of " + counted(lines, "line") +
                         " cannot be read and " + (lines - data.metrics.size() == 1 ? "is" : "are") + " left out.");
  }
  if (wrong > 0) {
    data.notes.push_back(name + ": " + counted(wrong, "value") +
                         (wrong == 1 ? " is not a number" : " are not numbers") + " and " +
                         (wrong == 1 ? "is" : "are") + " left out.");
  }
}

ReportData run_report(const ReportRequest& request) {
  const fs::path run = request.inputs[0];
  const Json config = read_json_file(run / "config.json");
  ReportData data;
  data.metrics = read_metrics(run);
  check_metrics(run, data);
  std::vector<std::string> hooks;
  for (const auto& hook : config.value("hooks", Json::array())) hooks.push_back(hook.value("name", "?"));
  data.title = config.value("plugin", Json::object()).value("name", "") + (hooks.empty() ? "" : " with " + join(hooks));
  data.source = name_of_path(run);
  say(request, "opening the run's data");
  try {
    data.pictures = request.open_run(run.string(), data.crowd);
  } catch (const std::exception& e) {  // a run may outlive its data
    data.notes.push_back(std::string("The run's data cannot be opened, so what needs them is left out: ") + e.what());
  }
  const std::string annotators = (run / "annotators.json").string();
  const bool learnt = fs::exists(annotators), logged = !data.metrics.empty();
  if (learnt) {
    data.posteriors = data.crowd.annotators.empty() ? read_annotator_posteriors(annotators)
                                                    : read_posteriors(annotators, data.crowd, data);
    data.learnt_by = "the run";
  }
  if (data.crowd.annotators.empty()) {
    if (!data.crowd.images.empty()) {
      data.notes.push_back("The run's labels name no annotators, so there is nothing to show but the curves.");
    }
    return data;
  }
  const std::string hook = hooks.empty() ? "labels" : hooks[0];
  if (const fs::path labels = newest_labels(run); !labels.empty()) {
    data.methods.push_back({labels_name(hook, labels), read_targets(labels.string(), data.crowd)});
  }
  add_consensus(request, data);
  run_methods(request, ", annotations alone", data);
  if (!learnt && data.posteriors) data.learnt_by += "; the run itself learnt nothing about annotators";
  if (learnt || logged) data.bound.clear();  // the run's own bound per epoch is in its metrics
  note_what_is_missing(data);
  return data;
}

ReportData experiment_report(const ReportRequest& request) {
  ReportData data;
  data.experiment = read_experiment_table(fs::path(request.inputs[0]) / "table.json");
  data.title = data.experiment.contains("name") && data.experiment["name"].is_string()
                   ? data.experiment["name"].get<std::string>()
                   : "Experiment";
  data.source = name_of_path(request.inputs[0]);
  if (data.experiment["rows"].empty()) data.notes.push_back("The experiment's table has no rows yet.");
  return data;
}

/// One name for two things would make the page's tables unreadable.
void check_names(const ReportRequest& request) {
  std::set<std::string> names;
  for (const std::string& text : request.consensus) {
    const std::string name = consensus_file(text).name;
    if (names.insert(name).second) continue;
    throw UserError(ExitCode::usage, "--consensus: two are called '" + printable(name) +
                                         "'; give each its own name with --consensus NAME=FILE");
  }
  names.clear();
  for (const std::string& name : request.methods) {
    if (!names.insert(name).second)
      throw UserError(ExitCode::usage, "--method " + printable(name) + ": is named twice");
  }
}

}  // namespace

ConsensusFile consensus_file(const std::string& text) {
  const auto equals = text.find('=');
  std::error_code ignored;
  if (equals == std::string::npos || equals == 0 || fs::exists(text, ignored)) {
    return {fs::path(text).stem().string(), text};
  }
  return {text.substr(0, equals), text.substr(equals + 1)};
}

bool is_experiment_folder(const std::string& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored) && fs::exists(fs::path(path) / "table.json", ignored);
}

bool is_run_folder(const std::string& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored) && fs::exists(fs::path(path) / "config.json", ignored);
}

ReportData load_report(const ReportRequest& request) {
  check_names(request);
  for (const std::string& input : request.inputs) {
    if (request.inputs.size() == 1 || !(is_run_folder(input) || is_experiment_folder(input))) continue;
    throw UserError(ExitCode::usage, printable(input, 200) +
                                         ": is the folder of a run or experiment, and a report shows one of them; "
                                         "`compare` puts several runs side by side");
  }
  const bool experiment = request.inputs.size() == 1 && is_experiment_folder(request.inputs[0]);
  const bool run = request.inputs.size() == 1 && is_run_folder(request.inputs[0]);
  if ((run || experiment) && (!request.annotators.empty() || !request.truth.empty() || !request.images.empty())) {
    throw UserError(ExitCode::usage, "--annotators, --truth and --images go with labels; a run knows its own");
  }
  ReportData data = experiment ? experiment_report(request) : run ? run_report(request) : labels_report(request);
  if (!request.title.empty()) data.title = request.title;
  data.progress = request.progress;
  return data;
}

}  // namespace bdc::host
