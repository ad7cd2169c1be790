#include "report/load_report.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "app/user_error.h"
#include "bdc/core/error.h"
#include "bdc/core/io/coco.h"
#include "bdc/core/method.h"
#include "config/config.h"
#include "data/image_folder_data.h"
#include "data/open_data.h"
#include "files/metrics_log.h"
#include "text/nearest.h"

namespace bdc::host {
namespace fs = std::filesystem;
namespace {

void say(const ReportRequest& request, const std::string& text) {
  if (request.progress) request.progress(text);
}

AnnotatorPosteriors read_posteriors(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) throw DataError(file.string() + ": cannot be opened");
  return read_annotator_posteriors(in, file.string());
}

/// NAME=FILE, or a file whose name without extension is the method's.
MethodLabels read_consensus(const std::string& text, const CrowdData& crowd) {
  const auto equals = text.find('=');
  std::error_code ignored;
  const bool named = equals != std::string::npos && equals > 0 && !fs::exists(text, ignored);
  const std::string file = named ? text.substr(equals + 1) : text;
  return {named ? text.substr(0, equals) : fs::path(file).stem().string(), read_targets(file, crowd)};
}

/// The consensus of methods that are run here, named with a remark. The first that learns annotators gives their
/// posteriors.
void run_methods(const ReportRequest& request, const std::string& remark, ReportData& data) {
  for (const std::string& name : request.methods) {
    say(request, "aggregating: " + name);
    AggregationInput input;
    input.crowd = &data.crowd;
    input.threads = request.threads;
    std::unique_ptr<AggregationMethod> method;
    try {
      method = make_method(name);
    } catch (const std::invalid_argument& e) {
      throw UserError(ExitCode::usage, e.what());
    }
    AggregationResult result = method->aggregate(input);
    for (const auto& warning : result.warnings) data.notes.push_back(name + ": " + warning + ".");
    data.methods.push_back({name + remark, std::move(result.targets)});
    if (result.posteriors && !data.posteriors) data.posteriors = std::move(result.posteriors);
    if (data.bound.empty()) data.bound = std::move(result.bound);
  }
}

/// Pictures whose image i is image i of the crowd. ImageFolderData leaves out what is not there, so it is asked by id.
class PicturesById : public Dataset {
 public:
  PicturesById(const CrowdData& crowd, std::shared_ptr<const Dataset> pictures) : pictures_(std::move(pictures)) {
    const auto key = [](const ImageRecord& r) { return (r.id.is_integer ? "i" : "s") + r.id.text; };
    std::map<std::string, std::int64_t> at;
    for (const auto& image : pictures_->labels().images) at.emplace(key(image), static_cast<std::int64_t>(at.size()));
    for (const auto& image : crowd.images) {
      const auto found = at.find(key(image));
      index_.push_back(found == at.end() ? -1 : found->second);
    }
  }
  [[nodiscard]] const CrowdData& labels() const override { return pictures_->labels(); }
  [[nodiscard]] cv::Mat image(std::int64_t i) const override {
    const std::int64_t at = index_.at(static_cast<std::size_t>(i));
    if (at < 0) throw BrokenImage("image " + std::to_string(i) + ": there is no picture");
    return pictures_->image(at);
  }

 private:
  std::shared_ptr<const Dataset> pictures_;
  std::vector<std::int64_t> index_;
};

ReportData labels_report(const ReportRequest& request) {
  ReportData data;
  say(request, "reading " + request.inputs[0]);
  ReadOptions reading = request.reading;
  if (reading.image_folder.empty()) reading.image_folder = request.images;
  data.crowd = read_crowd(request.inputs, reading);
  if (data.crowd.images.empty()) throw DataError(request.inputs[0] + ": expected images, found none");
  if (!request.truth.empty()) (void)attach_truth(data.crowd, request.truth);
  for (const std::string& file : request.consensus) data.methods.push_back(read_consensus(file, data.crowd));
  if (!request.annotators.empty()) data.posteriors = aligned_with(read_posteriors(request.annotators), data.crowd);
  if (data.methods.empty()) {
    if (data.crowd.annotators.empty()) {
      throw DataError(request.inputs[0] + ": the labels have no annotators; a report needs to know who drew what");
    }
    run_methods(request, "", data);
  }
  if (!request.images.empty()) {
    ImageFolderSettings settings;
    settings.folder = request.images;
    auto pictures = std::make_shared<ImageFolderData>(data.crowd, settings);
    for (const auto& warning : pictures->warnings()) data.notes.push_back(warning);
    data.pictures = std::make_shared<PicturesById>(data.crowd, pictures);
  }
  data.title = "Labels of " + std::to_string(data.crowd.annotators.size()) + " annotators";
  data.source = join(request.inputs);
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

ReportData run_report(const ReportRequest& request) {
  const fs::path run = request.inputs[0];
  const Json config = with_sets(read_json_file(run / "config.json"), {});
  ReportData data;
  data.metrics = read_metrics(run);
  std::vector<std::string> hooks;
  for (const auto& hook : config["hooks"]) hooks.push_back(hook.value("name", "?"));
  data.title = config_value<std::string>(config, "plugin.name") + (hooks.empty() ? "" : " with " + join(hooks));
  data.source = run.string();
  say(request, "opening the run's data");
  try {
    const OpenedData opened = open_data(config);
    data.crowd = opened.train->labels();
    data.pictures = opened.train;
  } catch (const std::exception& e) {  // a run may outlive its data
    data.notes.push_back(std::string("The run's data cannot be opened, so that what needs them is left out: ") +
                         e.what());
  }
  if (fs::exists(run / "annotators.json")) {
    data.posteriors = read_posteriors(run / "annotators.json");
    if (!data.crowd.annotators.empty()) data.posteriors = aligned_with(*data.posteriors, data.crowd);
  }
  if (data.crowd.annotators.empty()) return data;
  const std::string hook = hooks.empty() ? "labels" : hooks[0];
  if (const fs::path labels = newest_labels(run); !labels.empty()) {
    data.methods.push_back({hook + " (" + labels.stem().string() + ")", read_targets(labels.string(), data.crowd)});
  }
  for (const std::string& file : request.consensus) data.methods.push_back(read_consensus(file, data.crowd));
  const bool learnt = data.posteriors.has_value(), logged = !data.metrics.empty();
  run_methods(request, ", annotations alone", data);
  if (learnt || logged) data.bound.clear();  // the run's own bound per epoch is in its metrics
  return data;
}

ReportData experiment_report(const ReportRequest& request) {
  const fs::path file = fs::path(request.inputs[0]) / "table.json";
  ReportData data;
  data.experiment = read_json_file(file);
  if (!data.experiment.is_object() || data.experiment.value("format", "") != "bdc_experiment") {
    throw DataError(file.string() + ": expected the table of an experiment (\"format\": \"bdc_experiment\")");
  }
  data.title = data.experiment.contains("name") && data.experiment["name"].is_string()
                   ? data.experiment["name"].get<std::string>()
                   : "Experiment";
  data.source = request.inputs[0];
  return data;
}

}  // namespace

bool is_experiment_folder(const std::string& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored) && fs::exists(fs::path(path) / "table.json", ignored);
}

bool is_run_folder(const std::string& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored) && fs::exists(fs::path(path) / "config.json", ignored);
}

ReportData load_report(const ReportRequest& request) {
  const bool experiment = request.inputs.size() == 1 && is_experiment_folder(request.inputs[0]);
  const bool run = request.inputs.size() == 1 && is_run_folder(request.inputs[0]);
  if ((run || experiment) && (!request.annotators.empty() || !request.truth.empty() || !request.images.empty())) {
    throw UserError(ExitCode::usage, "--annotators, --truth and --images go with labels; a run knows its own");
  }
  ReportData data = experiment ? experiment_report(request) : run ? run_report(request) : labels_report(request);
  if (!request.title.empty()) data.title = request.title;
  return data;
}

}  // namespace bdc::host
