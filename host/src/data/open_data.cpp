#include "data/open_data.h"

#include <algorithm>
#include <filesystem>
#include <map>

#include "app/user_error.h"
#include "bdc/base/parallel.h"
#include "bdc/crowd/coco.h"
#include "bdc/crowd/crowd_io.h"
#include "builtin_hooks/builtin_info.h"
#include "config/config.h"
#include "data/cached_data.h"
#include "data/image_folder_data.h"
#include "data/subset_data.h"
#include "text/nearest.h"

namespace bdc::host {
namespace {

using Shared = std::shared_ptr<const Dataset>;

std::string text(const Json& config, const std::string& key) {
  return config_value<std::string>(config, "data." + key);
}
std::int64_t integer(const Json& config, const std::string& key) {
  return config_value<std::int64_t>(config, "data." + key);
}
double number(const Json& config, const std::string& key) {
  return config_value<double>(config, "data." + key);
}

/// Both data sets with memory for their decoded images, in proportion to their sizes.
void keep_in_memory(const Json& config, Shared& train, Shared& test) {
  const std::int64_t bytes = integer(config, "cache_mb") << 20;
  if (bytes == 0) return;
  const double share = static_cast<double>(train->size()) / static_cast<double>(train->size() + test->size());
  const auto for_train = static_cast<std::int64_t>(static_cast<double>(bytes) * share);
  train = std::make_shared<CachedData>(train, for_train);
  if (test->size() > 0) test = std::make_shared<CachedData>(test, bytes - for_train);
}

// The built-in data.

/// Training and held-out shapes: the same settings, but seeds that no other training seed leads to.
ShapesSettings shapes_settings(const Json& config, bool test) {
  return {integer(config, test ? "shapes.test_images" : "shapes.train_images"), integer(config, "shapes.classes"),
          integer(config, "shapes.size"), integer(config, "shapes.max_objects"),
          static_cast<std::uint64_t>(integer(config, "shapes.seed")) * 2 + (test ? 1 : 0)};
}

OpenedData open_shapes(const Json& config) {
  CrowdShapesSettings crowd;
  crowd.experts = integer(config, "shapes.crowd.experts");
  crowd.average = integer(config, "shapes.crowd.average");
  crowd.poor = integer(config, "shapes.crowd.poor");
  crowd.random = integer(config, "shapes.crowd.random");
  crowd.share = number(config, "shapes.crowd.share");
  const ShapesSettings shapes = shapes_settings(config, false);
  crowd.seed = shapes.seed;
  OpenedData out;
  out.built_in = true;
  out.description = std::to_string(shapes.images) + " built-in images of shapes";
  const auto annotated = std::make_shared<CrowdShapesData>(shapes, crowd);
  out.simulated = annotated->annotators();
  if (!out.simulated.empty()) {
    out.description += " with a simulated crowd of " + std::to_string(out.simulated.size());
  }
  Shared train = annotated, test = std::make_shared<ShapesData>(shapes_settings(config, true));
  keep_in_memory(config, train, test);
  out.train = train;
  out.test = test;
  return out;
}

// Files.

/// One path, or several with commas between.
std::vector<std::string> paths_of(const std::string& text) {
  std::error_code ignored;
  if (std::filesystem::exists(text, ignored)) return {text};
  std::vector<std::string> out;
  for (std::size_t from = 0; from <= text.size();) {
    const std::size_t comma = std::min(text.find(',', from), text.size());
    if (comma > from) out.push_back(text.substr(from, comma - from));
    from = comma + 1;
  }
  return out;
}

/// Labels as data.role says. "auto": boxes of a single annotator, as plain COCO, YOLO or VOC labels have them, are the
/// truth; everything else is a crowd's.
CrowdData read_labels(const Json& config, const std::string& labels, const std::string& images) {
  const std::string role = text(config, "role");
  ReadOptions options;
  options.format = text(config, "format");
  options.image_folder = images;
  options.class_names = text(config, "class_names");
  options.role = role == "truth" ? BoxRole::truth : BoxRole::crowd;
  CrowdData data = read_crowd(paths_of(labels), options);
  if (role == "auto" && data.annotators.size() < 2 && !data.has_truth) {
    options.role = BoxRole::truth;
    try {
      return read_crowd(paths_of(labels), options);
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

void check_keys(const Json& config) {
  const auto fail = [](const std::string& what) { throw UserError(ExitCode::config, what); };
  if (text(config, "labels").empty())
    fail("data.labels: names no labels, but data.source or data.images asks for files");
  if (text(config, "images").empty()) fail("data.images: names no folder with the images of data.labels");
  if (!text(config, "val_images").empty() && text(config, "val_labels").empty()) {
    fail("data.val_images: is set, but data.val_labels is not");
  }
  if (!text(config, "val_labels").empty() && number(config, "val_share") > 0) {
    fail("data.val_share: data.val_labels names validation data already; set one of the two");
  }
}

std::shared_ptr<ImageFolderData> open_folder(const Json& config, const CrowdData& labels, const std::string& images,
                                             std::vector<std::string>& warnings) {
  ImageFolderSettings settings;
  settings.folder = images;
  settings.strict = config_value<bool>(config, "data.strict");
  settings.limits = image_limits(config);
  auto out = std::make_shared<ImageFolderData>(labels, settings);
  warnings.insert(warnings.end(), out->warnings().begin(), out->warnings().end());
  return out;
}

void note_unmeasured(OpenedData& data) {
  if (data.test->size() == 0) {
    data.unmeasured = "no validation images (data.val_labels or data.val_share), so AP is not measured";
  } else if (!has_true_boxes(data.test->labels())) {
    data.unmeasured = "the " + std::to_string(data.test->size()) +
                      " validation images have no true boxes, so AP is not measured (data.val_labels or data.truth "
                      "can name some)";
  }
}

OpenedData open_files(const Json& config, const std::vector<std::string>& classes) {
  check_keys(config);
  const std::string labels_path = text(config, "labels"), images = text(config, "images");
  OpenedData out;
  CrowdData labels = read_labels(config, labels_path, images);
  if (const std::string truth = text(config, "truth"); !truth.empty()) (void)attach_truth(labels, truth);
  if (!classes.empty()) use_classes(labels, class_records(classes), labels_path);
  Shared train = open_folder(config, labels, images, out.warnings),
         test = std::make_shared<SubsetData>(train, std::vector<std::int64_t>{});
  if (const std::string val = text(config, "val_labels"); !val.empty()) {
    const std::string val_images = text(config, "val_images").empty() ? images : text(config, "val_images");
    CrowdData val_labels = read_labels(config, val, val_images);
    use_classes(val_labels, labels.classes, val);
    test = open_folder(config, val_labels, val_images, out.warnings);
  }
  keep_in_memory(config, train, test);
  if (const double share = number(config, "val_share"); share > 0) {
    const auto parts = split_images(train->size(), share, static_cast<std::uint64_t>(integer(config, "split_seed")));
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

/// The built-in shapes have no annotators unless asked for; a hook that needs some gets a mixed crowd.
Json with_crowd_for_hooks(Json config) {
  Json& data = config["data"];
  const bool files = !data["labels"].get<std::string>().empty() || data["source"] == "files";
  Json& crowd = data["shapes"]["crowd"];
  const bool none = crowd["experts"] == 0 && crowd["average"] == 0 && crowd["poor"] == 0 && crowd["random"] == 0;
  const bool wanted = std::any_of(config["hooks"].begin(), config["hooks"].end(), [](const Json& hook) {
    return find_builtin_hook(hook["name"].get<std::string>()) != nullptr;
  });
  if (files || !none || !wanted) return config;
  crowd["experts"] = 2;
  crowd["average"] = 5;
  crowd["poor"] = 2;
  crowd["random"] = 1;
  return config;
}

}  // namespace

bool has_true_boxes(const CrowdData& labels) {
  return std::any_of(labels.truth.begin(), labels.truth.end(), [](const TruthBox& t) { return !t.is_crowd; });
}

OpenedData open_data(const Json& given, const std::vector<std::string>& classes) {
  const Json config = with_crowd_for_hooks(given);
  const std::string source = text(config, "source");
  const bool named = !text(config, "labels").empty() || !text(config, "images").empty();
  OpenedData data =
      source == "files" || (source == "auto" && named) ? open_files(config, classes) : open_shapes(config);
  if (augment_settings(config).mosaic > 0 && !data.train->labels().annotators.empty()) {
    throw UserError(
        ExitCode::config,
        "train.augment.mosaic: four images in one have no common frame, so it cannot be used with labels of "
        "several annotators; set it to 0");
  }
  return data;
}

Json with_absolute_paths(Json config) {
  const auto absolute = [](const std::string& path) {
    return std::filesystem::absolute(path).lexically_normal().string();
  };
  for (const char* key : {"images", "class_names", "truth", "val_images"}) {
    Json& value = config["data"][key];
    if (value != "") value = absolute(value.get<std::string>());
  }
  for (const char* key : {"labels", "val_labels"}) {
    std::string all;
    for (const std::string& path : paths_of(config["data"][key].get<std::string>())) {
      all += (all.empty() ? "" : ",") + absolute(path);
    }
    config["data"][key] = all;
  }
  Json& weights = config["train"]["weights"];
  if (weights != "") weights = absolute(weights.get<std::string>());
  return config;
}

ImageLimits image_limits(const Json& config) {
  return {integer(config, "max_megapixels") * 1000000};
}

AugmentSettings augment_settings(const Json& config) {
  const auto value = [&](const char* key) { return config_value<double>(config, std::string("train.augment.") + key); };
  AugmentSettings s;
  s.rotate = value("rotate");
  s.translate = value("translate");
  s.zoom = value("zoom");
  s.shear = value("shear");
  s.flip_x = value("flip_x");
  s.flip_y = value("flip_y");
  s.hue = value("hue");
  s.saturation = value("saturation");
  s.value = value("value");
  s.mosaic = value("mosaic");
  return s;
}

int loader_workers(const Json& config) {
  return static_cast<int>(std::min<std::int64_t>(integer(config, "workers"), default_threads()));
}

}  // namespace bdc::host
