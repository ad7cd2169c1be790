#include "engine/open_trained.h"
#include "bdc/base/atomic_file.h"

#include <torch/nn.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <set>

#include "bdc/base/now_seconds.h"
#include "bdc/base/table.h"
#include "bdc/base/text.h"
#include "bdc/base/user_error.h"
#include "bdc/crowd/clip_to_image.h"
#include "bdc/crowd/coco.h"
#include "data/image_list.h"
#include "data/open_data.h"
#include "data/subset_data.h"
#include "engine/checkpoint.h"
#include "engine/device.h"
#include "engine/evaluate.h"
#include "engine/run_pictures.h"
#include "engine/stored_weights.h"
#include "engine/tensor_process.h"
#include "engine/train_settings.h"
#include "files/outputs.h"
#include "pictures/picture.h"

namespace bdc::host {
namespace fs = std::filesystem;
namespace {

/// Adds what lies inside the image; a detector may draw beyond its edges. Found objects have the form of a consensus: a
/// COCO file of them lists its images and classes by name, so that it can be judged against labels with other ids.
void append_inside(const std::vector<Detection>& found, const ImageRecord& image, Targets& out) {
  for (const Detection& one : found) {
    const Box inside = clip_to_image(one.box, image);
    if (!inside.valid()) continue;
    out.box.push_back(inside);
    out.score.push_back(one.score);
    out.hard_label.push_back(one.label);
  }
  out.weight.resize(out.box.size(), 1.0);
  out.begin.push_back(out.box.size());
}

/// The same with the full class vector of every box.
void append_inside(const DetectedBoxes& seen, const ImageRecord& image, Targets& out) {
  const auto J = static_cast<std::ptrdiff_t>(out.num_classes);
  for (std::size_t n = 0; n < seen.box.size(); ++n) {
    const Box inside = clip_to_image(seen.box[n], image);
    if (!inside.valid()) continue;
    out.box.push_back(inside);
    out.score.push_back(seen.score[n]);
    const auto probs = seen.class_probs.begin() + static_cast<std::ptrdiff_t>(n) * J;
    out.class_probs.insert(out.class_probs.end(), probs, probs + J);
  }
  out.weight.resize(out.box.size(), 1.0);
  out.begin.push_back(out.box.size());
}

const char* const kClassList = "classes";  // .txt, beside the text files of images
const char* const kTextExtension = ".txt";
const char* const kPictureExtension = ".png";
const char* const kMark = ".bdc-predict";  // a file in folders that predictions were written to

/// Names in a flat folder without extensions, one per image, no two alike: the file's own, with the image's number in
/// front where several share it.
std::vector<std::string> flat_names(const std::vector<ImageRecord>& images) {
  std::vector<std::string> names;
  std::map<std::string, int> count;
  count[kClassList] = 1;
  for (const ImageRecord& image : images) ++count[names.emplace_back(fs::path(image.file).stem().string())];
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (count[names[i]] == 1) continue;
    std::string fresh = std::to_string(i + 1) + "_" + names[i];
    while (count.count(fresh) != 0) fresh = "_" + fresh;
    count[fresh] = 1;
    names[i] = fresh;
  }
  return names;
}

/// A file of this name for each of these images.
struct NamedOutput {
  std::string folder, extension;
  const std::vector<std::string>& names;
  [[nodiscard]] fs::path file(std::size_t image) const { return fs::path(folder) / (names[image] + extension); }
};

/// Throws UserError when the folder holds a file of a name that is to be written, and no earlier prediction's mark.
void keep_others_files_in(const NamedOutput& output, std::size_t count) {
  std::error_code ignored;
  if (fs::exists(fs::path(output.folder) / kMark, ignored)) return;
  std::vector<fs::path> files = {fs::path(output.folder) / (std::string(kClassList) + kTextExtension)};
  if (output.extension != kTextExtension) files.clear();
  for (std::size_t i = 0; i < count; ++i) files.push_back(output.file(i));
  for (const fs::path& file : files) {
    if (!fs::exists(file, ignored)) continue;
    throw UserError(ExitCode::usage, file.string() +
                                         ": exists, and no earlier `predict` wrote into this folder; choose another "
                                         "folder, or replace such files with --force (nothing was changed)");
  }
}

/// Makes the folder, with a mark that its files may be replaced. Throws UserError when it cannot be made, when one of
/// its files is an image that is read, or when somebody else's would be replaced.
void prepare_folder(const NamedOutput& output, const std::vector<ImageRecord>& images, bool force) {
  if (output.folder.empty()) return;
  std::error_code error;
  fs::create_directories(output.folder, error);
  if (error) {
    throw UserError(ExitCode::failure, output.folder + ": the folder cannot be created: " + error.message());
  }
  std::set<fs::path> read;
  for (const ImageRecord& image : images) read.insert(fs::weakly_canonical(image.file, error));
  for (std::size_t i = 0; i < images.size(); ++i) {
    if (read.count(fs::weakly_canonical(output.file(i), error)) != 0) {
      throw UserError(
          ExitCode::usage,
          output.file(i).string() + ": would overwrite an input image; choose another folder (nothing was changed)");
    }
  }
  if (!force) keep_others_files_in(output, images.size());
  write_file_atomically(fs::path(output.folder) / kMark, "what `bdc-host predict` wrote here it may replace\n");
}

/// Names with commas between.
std::string listed(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& name : names) out += (out.empty() ? "" : ", ") + printable(name, 40);
  return out;
}

/// Names the images that cannot be read. Returns how many they are.
std::size_t tell_broken(const Dataset& data, Progress& progress) {
  const std::vector<std::string> broken = data.broken_images();
  for (const std::string& what : broken) progress.line("left out: " + what);
  return broken.size();
}

/// Before long work rather than after it. Makes the folders that are asked for.
void check_predictions_can_be_written(const PredictRequest& request, const std::vector<ImageRecord>& images) {
  std::vector<std::string> inputs;
  for (const ImageRecord& image : images) inputs.push_back(image.file);
  check_outputs(inputs, {request.coco_file});
  keep_others_files({request.coco_file}, request.force);
  const auto names = flat_names(images);
  prepare_folder({request.yolo_folder, kTextExtension, names}, images, request.force);
  prepare_folder({request.picture_folder, kPictureExtension, names}, images, request.force);
}

/// One text file per image: class cx cy w h score, as shares of the image.
void write_yolo(const NamedOutput& output, const Targets& found, const CrowdData& labels) {
  for (std::size_t i = 0; i < labels.images.size(); ++i) {
    std::string text;
    const double w = labels.images[i].width, h = labels.images[i].height;
    for (std::size_t n = found.begin[i]; n < found.begin[i + 1]; ++n) {
      const Box& b = found.box[n];
      char line[160];
      std::snprintf(line, sizeof(line), "%zu %.6f %.6f %.6f %.6f %.4f\n", static_cast<std::size_t>(found.label(n)),
                    (b.x1 + b.x2) / 2 / w, (b.y1 + b.y2) / 2 / h, b.width() / w, b.height() / h, found.score[n]);
      text += line;
    }
    write_file_atomically(output.file(i), text);
  }
  std::string names;
  for (const std::string& name : class_names(labels)) names += name + "\n";
  write_file_atomically(fs::path(output.folder) / (std::string(kClassList) + ".txt"), names);
}

void write_pictures(const NamedOutput& output, const Targets& found, const Dataset& data) {
  const CrowdData& labels = data.labels();
  for (std::size_t i = 0; i < labels.images.size(); ++i) {
    const cv::Mat image = data.image(static_cast<std::int64_t>(i));
    const int factor = enlargement(image);
    cv::Mat picture = enlarged(image, factor);
    std::vector<DrawnBox> drawn;
    for (std::size_t n = found.begin[i]; n < found.begin[i + 1]; ++n) {
      const Box& b = found.box[n];
      const auto label = static_cast<std::size_t>(found.label(n));
      const double f = factor;
      drawn.push_back({{b.x1 * f, b.y1 * f, b.x2 * f, b.y2 * f},
                       label,
                       labels.classes[label].name + " " + fixed(found.score[n], 2),
                       1.0});
    }
    draw_boxes(picture, drawn);
    write_picture(output.file(i), picture);
  }
}

/// A detector with its plugin, which must outlive it.
struct BuiltDetector {
  std::unique_ptr<LoadedPlugin> plugin;
  std::unique_ptr<DetectorHandle> detector;
};

class StoredRun : public TrainedRun {
 public:
  explicit StoredRun(StoredWeights weights) : weights_(std::move(weights)) {}

  [[nodiscard]] const std::string& config() const override { return weights_.config; }

  Validation validate(const RunConfig& given, const ValidateRequest& request, const Catalog& catalog,
                      Progress& progress) override {
    if (!request.picture.empty()) check_picture_file(request.picture);
    const BuiltDetector built = build(given, catalog, request.device);
    DetectorHandle& detector = *built.detector;
    prepare_tensor_process(static_cast<int>(given.train.threads));
    const TrainSettings settings = train_settings(given);
    // Only the evaluation images are wanted: where they are files of their own, nothing else needs to be there.
    RunConfig config = given;
    const bool own_files = !config.data.val_labels.empty();
    if (own_files) {
      DataConfig& source = config.data;
      source.labels = source.val_labels;
      if (!source.val_images.empty()) source.images = source.val_images;
      source.val_labels = source.val_images = source.truth = "";
      source.val_share = 0;
      source.role = "truth";
      source.source = "files";
    }
    OpenedData data = open_data(config, own_files ? weights_.classes : std::vector<std::string>{});
    if (own_files) data.test = data.train;
    if (data.test->size() == 0) {
      throw UserError(
          ExitCode::config,
          "there are no images to evaluate on\n  advice: --set data.val_labels=FILE --set data.val_images=DIR");
    }
    if (!has_true_boxes(data.test->labels())) {
      throw UserError(ExitCode::config,
                      "the " + std::to_string(data.test->size()) +
                          " images to evaluate on have no true boxes, so there is nothing to evaluate against\n"
                          "  advice: --set data.val_labels=FILE --set data.val_images=DIR with the true "
                          "boxes of some images, or --set data.truth=FILE");
    }
    Validation out;
    out.class_names = class_names(data.test->labels());
    if (out.class_names != weights_.classes) {
      throw UserError(ExitCode::data, "the labels' classes (" + listed(out.class_names) +
                                          ") are not those the detector was trained for (" + listed(weights_.classes) +
                                          ")");
    }
    out.weights = weights_.from;
    out.images = data.test->size();
    out.warnings = data.notes;
    out.warnings.insert(out.warnings.end(), data.warnings.begin(), data.warnings.end());
    for (const auto& note : data.notes) progress.line("note: " + note);
    for (const auto& warning : data.warnings) progress.line("warning: " + warning);
    progress.line("evaluating " + weights_.from + " on " + std::to_string(out.images) + " images");
    out.evaluation = evaluate(detector, *data.test, settings.input_size, settings.batch_size, settings.limits,
                              [&](std::int64_t done) {
                                progress.live("evaluating " + std::to_string(done) + "/" + std::to_string(out.images));
                              });
    progress.finish();
    out.broken = static_cast<std::int64_t>(tell_broken(*data.test, progress));
    if (!request.picture.empty()) write_precision_recall(request.picture, out.evaluation, out.class_names);
    return out;
  }

  PredictSummary predict(const RunConfig& config, const PredictRequest& request, const Catalog& catalog,
                         Progress& progress) override {
    const BuiltDetector built = build(config, catalog, request.device);
    const TrainSettings settings = train_settings(config);
    plugin::DecodeOptions limits = request.for_consensus ? settings.hook_limits : settings.limits;
    limits.min_score = request.min_score;
    const auto data =
        std::make_shared<ImageListData>(find_images(request.images), weights_.classes, image_limits(config.data));
    check_predictions_can_be_written(request, data->labels().images);
    progress.line("predicting with " + weights_.from);
    Targets found;
    found.num_classes = static_cast<int>(weights_.classes.size());
    found.begin.assign(1, 0);
    std::vector<std::int64_t> read;  // all but the broken ones
    const double started = now_seconds();
    const auto add = [&](std::size_t image, const auto& seen) {
      append_inside(seen, data->labels().images[image], found);
      read.push_back(static_cast<std::int64_t>(image));
      progress.live("image " + std::to_string(read.size()) + "/" + std::to_string(data->size()));
    };
    if (request.for_consensus) {
      predict_all(*built.detector, *data, settings.input_size, settings.batch_size, limits, add);
    } else {
      detect_all(*built.detector, *data, settings.input_size, settings.batch_size, limits, add);
    }
    PredictSummary summary;
    summary.images = read.size();
    summary.seconds = now_seconds() - started;
    summary.objects = found.box.size();
    progress.finish();
    summary.broken = tell_broken(*data, progress);
    if (summary.images == 0) throw UserError(ExitCode::data, "none of the images can be read; nothing was written");
    std::vector<std::string> names;
    const auto all_names = flat_names(data->labels().images);
    for (const std::int64_t image : read) names.push_back(all_names[static_cast<std::size_t>(image)]);
    const SubsetData kept(data, std::move(read));
    if (!request.coco_file.empty()) write_targets(found, kept.labels(), request.coco_file);
    if (!request.yolo_folder.empty()) write_yolo({request.yolo_folder, kTextExtension, names}, found, kept.labels());
    if (!request.picture_folder.empty())
      write_pictures({request.picture_folder, kPictureExtension, names}, found, kept);
    return summary;
  }

 private:
  [[nodiscard]] BuiltDetector build(const RunConfig& config, const Catalog& catalog, const std::string& device) const {
    prepare_tensor_process(0);
    BuiltDetector out;
    out.plugin = std::make_unique<LoadedPlugin>(
        LoadedPlugin::load(catalog.find(config.plugin.name, Catalog::Kind::detector).file));
    out.detector =
        std::make_unique<DetectorHandle>(*out.plugin,
                                         plugin::DetectorConfig{static_cast<std::int64_t>(weights_.classes.size()),
                                                                config.train.input_size.value(), config.plugin.options},
                                         0, device_of(device));
    load_module_state(out.detector->module(), weights_.tensors);
    out.detector->module().eval();
    out.detector->prepare_for_inference();
    return out;
  }

  StoredWeights weights_;
};

}  // namespace

std::unique_ptr<TrainedRun> open_trained(const fs::path& run) {
  return std::make_unique<StoredRun>(read_stored_weights(run));
}

}  // namespace bdc::host
