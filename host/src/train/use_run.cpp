#include "train/use_run.h"

#include <torch/nn.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <set>

#include "app/user_error.h"
#include "bdc/crowd/coco.h"
#include "config/config.h"
#include "data/image_list.h"
#include "data/open_data.h"
#include "data/subset_data.h"
#include "files/outputs.h"
#include "pictures/picture.h"
#include "text/nearest.h"
#include "text/table.h"
#include "train/evaluate.h"
#include "train/run_pictures.h"
#include "train/tensor_process.h"
#include "train/trained_detector.h"
#include "train/trainer.h"

namespace bdc::host {
namespace fs = std::filesystem;
namespace {

/// Adds what lies inside the image; a detector may draw beyond its edges.
void append_inside(const DetectedBoxes& seen, const ImageRecord& image, Predictions& out) {
  const auto J = static_cast<std::ptrdiff_t>(out.num_classes);
  for (std::size_t n = 0; n < seen.box.size(); ++n) {
    const Box inside = inside_image(seen.box[n], image);
    if (!inside.valid()) continue;
    out.box.push_back(inside);
    out.score.push_back(seen.score[n]);
    const auto probs = seen.class_probs.begin() + static_cast<std::ptrdiff_t>(n) * J;
    out.class_probs.insert(out.class_probs.end(), probs, probs + J);
  }
}

const char* const kClassList = "classes";  // .txt, beside the text files of images
const char* const kTextExtension = ".txt";
const char* const kPictureExtension = ".png";

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

/// Makes the folder. Throws UserError when it cannot be made, or when one of its files is an image that is read.
void prepare_folder(const NamedOutput& output, const std::vector<ImageRecord>& images) {
  if (output.folder.empty()) return;
  std::error_code error;
  fs::create_directories(output.folder, error);
  if (error) {
    throw UserError(ExitCode::failure, output.folder + ": the folder cannot be made: " + error.message());
  }
  std::set<fs::path> read;
  for (const ImageRecord& image : images) read.insert(fs::weakly_canonical(image.file, error));
  for (std::size_t i = 0; i < images.size(); ++i) {
    if (read.count(fs::weakly_canonical(output.file(i), error)) != 0) {
      throw UserError(ExitCode::usage, output.file(i).string() +
                                           ": would replace an image that is read; name another folder to write to, "
                                           "nothing was changed");
    }
  }
}

/// Found objects in the form of a consensus: a COCO file that lists its images and classes by name, so that it can be
/// judged against labels with other ids.
Targets as_targets(Predictions p) {
  Targets t;
  t.num_classes = p.num_classes;
  t.weight.assign(p.box.size(), 1.0);
  t.box = std::move(p.box);
  t.class_probs = std::move(p.class_probs);
  t.score = std::move(p.score);
  t.begin = std::move(p.begin);
  return t;
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
  const auto names = flat_names(images);
  prepare_folder({request.yolo_folder, kTextExtension, names}, images);
  prepare_folder({request.picture_folder, kPictureExtension, names}, images);
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

}  // namespace

Validation validate_run(const fs::path& run, const std::vector<std::string>& sets, const fs::path& picture,
                        const std::string& device, const Catalog& catalog, Progress& progress) {
  if (!picture.empty()) check_picture_file(picture);
  TrainedDetector trained = open_trained(run, catalog, device);
  Json config = with_sets(trained.config, sets);
  if (config["plugin"] != trained.config["plugin"]) {
    throw UserError(ExitCode::usage, "--set plugin.*: a detector is judged as it was trained; leave it out");
  }
  prepare_tensor_process(static_cast<int>(config_value<std::int64_t>(config, "train.threads")));
  const TrainSettings settings = train_settings(config);
  // Only the evaluation images are wanted: where they are files of their own, nothing else needs to be there.
  const bool own_files = !config_value<std::string>(config, "data.val_labels").empty();
  if (own_files) {
    Json& source = config["data"];
    source["labels"] = source["val_labels"];
    if (!source["val_images"].get<std::string>().empty()) source["images"] = source["val_images"];
    source["val_labels"] = source["val_images"] = source["truth"] = "";
    source["val_share"] = 0.0;
    source["role"] = "truth";
    source["source"] = "files";
  }
  OpenedData data = open_data(config, own_files ? trained.classes : std::vector<std::string>{});
  if (own_files) data.test = data.train;
  if (data.test->size() == 0) {
    throw UserError(
        ExitCode::config,
        "there are no images to evaluate on\n  advice: --set data.val_labels=FILE --set data.val_images=DIR");
  }
  if (!has_true_boxes(data.test->labels())) {
    throw UserError(ExitCode::config,
                    "the " + std::to_string(data.test->size()) +
                        " images to evaluate on have no true boxes, so there is nothing to judge by\n"
                        "  advice: --set data.val_labels=FILE --set data.val_images=DIR with the true "
                        "boxes of some images, or --set data.truth=FILE");
  }
  Validation out;
  out.class_names = class_names(data.test->labels());
  if (out.class_names != trained.classes) {
    throw UserError(ExitCode::data, "the labels have other classes (" + listed(out.class_names) +
                                        ") than the detector was trained for (" + listed(trained.classes) + ")");
  }
  out.weights = trained.from;
  out.images = data.test->size();
  out.warnings = data.warnings;
  for (const auto& warning : data.warnings) progress.line("warning: " + warning);
  progress.line("evaluating " + trained.from + " on " + std::to_string(out.images) + " images");
  out.evaluation = evaluate(*trained.detector, *data.test, settings.input_size, settings.batch_size, settings.limits,
                            [&](std::int64_t done) {
                              progress.live("evaluating " + std::to_string(done) + "/" + std::to_string(out.images));
                            });
  progress.finish();
  out.broken = static_cast<std::int64_t>(tell_broken(*data.test, progress));
  if (!picture.empty()) write_precision_recall(picture, out.evaluation, out.class_names);
  return out;
}

PredictSummary predict_images(const PredictRequest& request, const Catalog& catalog, Progress& progress) {
  TrainedDetector trained = open_trained(request.run, catalog, request.device);
  TrainSettings settings = train_settings(with_sets(trained.config, {}));
  settings.limits.min_score = request.min_score;
  const auto data = std::make_shared<ImageListData>(find_images(request.images), trained.classes,
                                                    image_limits(with_sets(trained.config, {})));
  check_predictions_can_be_written(request, data->labels().images);
  progress.line("predicting with " + trained.from);
  Predictions out;
  out.num_classes = static_cast<int>(trained.classes.size());
  out.begin.assign(1, 0);
  std::vector<std::int64_t> read;  // all but the broken ones
  const double started = now_seconds();
  predict_all(*trained.detector, *data, settings.input_size, settings.batch_size, settings.limits,
              [&](std::size_t image, const DetectedBoxes& seen) {
                append_inside(seen, data->labels().images[image], out);
                out.begin.push_back(out.box.size());
                read.push_back(static_cast<std::int64_t>(image));
                progress.live("image " + std::to_string(read.size()) + "/" + std::to_string(data->size()));
              });
  PredictSummary summary;
  summary.images = read.size();
  summary.seconds = now_seconds() - started;
  summary.objects = out.box.size();
  progress.finish();
  summary.broken = tell_broken(*data, progress);
  if (summary.images == 0) throw UserError(ExitCode::data, "none of the images can be read; nothing was written");
  const Targets found = as_targets(std::move(out));
  std::vector<std::string> names;
  const auto all_names = flat_names(data->labels().images);
  for (const std::int64_t image : read) names.push_back(all_names[static_cast<std::size_t>(image)]);
  const SubsetData kept(data, std::move(read));
  if (!request.coco_file.empty()) write_targets(found, kept.labels(), request.coco_file);
  if (!request.yolo_folder.empty()) write_yolo({request.yolo_folder, kTextExtension, names}, found, kept.labels());
  if (!request.picture_folder.empty()) write_pictures({request.picture_folder, kPictureExtension, names}, found, kept);
  return summary;
}

}  // namespace bdc::host
