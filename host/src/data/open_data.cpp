#include "data/open_data.h"

#include <algorithm>
#include <filesystem>
#include <map>

#include "bdc/base/nearest.h"
#include "bdc/base/parallel.h"
#include "bdc/base/text.h"
#include "bdc/base/user_error.h"
#include "bdc/crowd/coco.h"
#include "bdc/crowd/crowd_io.h"
#include "data/cached_data.h"
#include "data/image_folder_data.h"
#include "data/subset_data.h"
#include "files/path_list.h"

namespace bdc::host {
namespace {

using Shared = std::shared_ptr<const Dataset>;

/// Both data sets with memory for their decoded images, in proportion to their sizes.
void keep_in_memory(const DataConfig& config, Shared& train, Shared& test) {
  const std::int64_t bytes = config.cache_mb << 20;
  if (bytes == 0) return;
  const double share = static_cast<double>(train->size()) / static_cast<double>(train->size() + test->size());
  const auto for_train = static_cast<std::int64_t>(static_cast<double>(bytes) * share);
  train = std::make_shared<CachedData>(train, for_train);
  if (test->size() > 0) test = std::make_shared<CachedData>(test, bytes - for_train);
}

// The built-in data.

/// Training and held-out shapes: the same settings, but seeds that no other training seed leads to.
ShapesSettings shapes_settings(const ShapesConfig& config, bool test) {
  return {test ? config.test_images : config.train_images, config.classes, config.size, config.max_objects,
          static_cast<std::uint64_t>(config.seed) * 2 + (test ? 1 : 0)};
}

OpenedData open_shapes(const DataConfig& config) {
  CrowdShapesSettings crowd;
  crowd.experts = config.shapes.crowd.experts;
  crowd.average = config.shapes.crowd.average;
  crowd.poor = config.shapes.crowd.poor;
  crowd.random = config.shapes.crowd.random;
  crowd.share = config.shapes.crowd.share;
  const ShapesSettings shapes = shapes_settings(config.shapes, false);
  crowd.seed = shapes.seed;
  OpenedData out;
  out.built_in = true;
  out.description = std::to_string(shapes.images) + " built-in images of shapes";
  const auto annotated = std::make_shared<CrowdShapesData>(shapes, crowd);
  out.simulated = annotated->annotators();
  if (!out.simulated.empty()) {
    out.description += " with a simulated crowd of " + std::to_string(out.simulated.size());
  }
  Shared train = annotated, test = std::make_shared<ShapesData>(shapes_settings(config.shapes, true));
  keep_in_memory(config, train, test);
  out.train = train;
  out.test = test;
  return out;
}

// Files.

/// Labels as data.role says. "auto": boxes of a single annotator, as plain COCO, YOLO or VOC labels have them, are the
/// truth; everything else is a crowd's.
CrowdData read_labels(const DataConfig& config, const std::string& labels, const std::string& images,
                      const std::string& split, std::vector<std::string>& notes) {
  ReadOptions options;
  options.split = split;
  options.notes = &notes;
  options.format = config.format;
  options.image_folder = images;
  options.class_names = config.class_names;
  options.role = config.role == "truth" ? BoxRole::truth : BoxRole::crowd;
  CrowdData data = read_crowd(path_list(labels), options);
  if (config.role == "auto" && data.annotators.size() < 2 && !data.has_truth) {
    options.role = BoxRole::truth;
    try {
      return read_crowd(path_list(labels), options);
    } catch (const DataError&) {  // they name their annotator: a crowd of one
    }
  }
  return data;
}

std::vector<ClassRecord> class_records(const std::vector<std::string>& names) {
  std::vector<ClassRecord> out(names.size());
  for (std::size_t j = 0; j < names.size(); ++j) {
    out[j].id = {std::to_string(j + 1), true};
    out[j].name = names[j];
  }
  return out;
}

/// Numbers the classes of `labels` as `classes` does, by name. Throws DataError for a name that is not there.
void use_classes(CrowdData& labels, const std::vector<ClassRecord>& classes, const std::string& source) {
  std::map<std::string, std::int32_t> known;
  std::vector<std::string> names;
  for (std::size_t j = 0; j < classes.size(); ++j) {
    known.emplace(classes[j].name, static_cast<std::int32_t>(j));
    names.push_back(classes[j].name);
  }
  std::vector<std::int32_t> to;
  for (const auto& c : labels.classes) {
    const auto at = known.find(c.name);
    to.push_back(at == known.end() ? -1 : at->second);
  }
  const auto renumber = [&](std::int32_t& label) {
    const auto from = static_cast<std::size_t>(label);
    if (to[from] < 0) {
      throw DataError(source + ": class '" + printable(labels.classes[from].name) +
                      "' is not among the classes of the training labels" +
                      did_you_mean(labels.classes[from].name, names));
    }
    label = to[from];
  };
  for (auto& a : labels.annotations) renumber(a.label);
  for (auto& t : labels.truth) renumber(t.label);
  labels.classes = classes;
}

void check_keys(const DataConfig& config) {
  const auto fail = [](const std::string& what) { throw UserError(ExitCode::config, what); };
  if (config.labels.empty()) fail("data.labels (--data): is not set, but data.source or data.images asks for files");
  if (config.images.empty())
    fail("data.images (--images): is not set; it must be the folder with the images of data.labels");
  if (!config.val_images.empty() && config.val_labels.empty()) {
    fail("data.val_images: is set, but data.val_labels is not");
  }
  if (!config.val_labels.empty() && config.val_share > 0) {
    fail("data.val_share: data.val_labels already gives validation data; set one of the two");
  }
}

std::shared_ptr<ImageFolderData> open_folder(const DataConfig& config, const CrowdData& labels,
                                             const std::string& images, std::vector<std::string>& warnings) {
  ImageFolderSettings settings;
  settings.folder = images;
  settings.strict = config.strict;
  settings.limits = image_limits(config);
  auto out = std::make_shared<ImageFolderData>(labels, settings);
  warnings.insert(warnings.end(), out->warnings().begin(), out->warnings().end());
  return out;
}

void note_unmeasured(OpenedData& data) {
  if (data.test->size() == 0) {
    data.unmeasured = "no validation images (data.val_labels or data.val_share), so AP is not measured";
  } else if (!has_true_boxes(data.test->labels())) {
    data.unmeasured =
        "the " + std::to_string(data.test->size()) +
        " validation images have no true boxes, so AP is not measured (data.val_labels or data.truth can provide some)";
  }
}

OpenedData open_files(const DataConfig& config, const std::vector<std::string>& classes) {
  check_keys(config);
  const std::string labels_path = config.labels, images = config.images;
  OpenedData out;
  CrowdData labels = read_labels(config, labels_path, images, config.split, out.notes);
  if (const std::string truth = config.truth; !truth.empty()) (void)attach_truth(labels, truth);
  if (!classes.empty()) use_classes(labels, class_records(classes), labels_path);
  Shared train = open_folder(config, labels, images, out.warnings),
         test = std::make_shared<SubsetData>(train, std::vector<std::int64_t>{});
  if (const std::string val = config.val_labels; !val.empty()) {
    const std::string val_images = config.val_images.empty() ? images : config.val_images;
    CrowdData val_labels = read_labels(config, val, val_images, config.val_split, out.notes);
    use_classes(val_labels, labels.classes, val);
    test = open_folder(config, val_labels, val_images, out.warnings);
  }
  keep_in_memory(config, train, test);
  if (const double share = config.val_share; share > 0) {
    const auto parts = split_images(train->size(), share, static_cast<std::uint64_t>(config.split_seed));
    out.train = std::make_shared<SubsetData>(train, parts.first);
    out.test = std::make_shared<SubsetData>(train, parts.second);
  } else {
    out.train = train;
    out.test = test;
  }
  out.description = std::to_string(out.train->size()) + " images of " + images;
  if (const auto people = out.train->labels().annotators.size(); people > 0) {
    out.description += " with boxes of " + std::to_string(people) + (people == 1 ? " annotator" : " annotators");
  }
  note_unmeasured(out);
  return out;
}

}  // namespace

bool has_true_boxes(const CrowdData& labels) {
  return std::any_of(labels.truth.begin(), labels.truth.end(), [](const TruthBox& t) { return !t.is_crowd; });
}

OpenedData open_data(const RunConfig& config, const std::vector<std::string>& classes) {
  const DataConfig& data = config.data;
  const bool named = !data.labels.empty() || !data.images.empty();
  return data.source == "files" || (data.source == "auto" && named) ? open_files(data, classes) : open_shapes(data);
}

ImageLimits image_limits(const DataConfig& config) {
  return {config.max_megapixels * 1000000};
}

int loader_workers(const DataConfig& config) {
  return static_cast<int>(std::min<std::int64_t>(config.workers, default_threads()));
}

}  // namespace bdc::host
