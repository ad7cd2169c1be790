#include "cli/config/data_places.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "bdc/base/text.h"
#include "bdc/base/user_error.h"
#include "bdc/crowd/crowd_io.h"
#include "files/path_list.h"

namespace bdc::host {
namespace fs = std::filesystem;
namespace {

bool is_set(const Json& data, const char* key) {
  return !data[key].get<std::string>().empty();
}

/// The folder with the images of labels: the folder itself, that of a data.yaml, or the folder "images" beside a file.
fs::path folder_of_images(const std::string& labels) {
  std::error_code ignored;
  if (fs::is_directory(labels, ignored)) return labels;
  if (const std::string named = pictures_of_labels(labels); !named.empty()) return named;
  const fs::path folder = fs::path(labels).has_parent_path() ? fs::path(labels).parent_path() : fs::path(".");
  const std::string extension = lower_case(fs::path(labels).extension().string());
  const bool yaml = extension == ".yaml" || extension == ".yml";
  return !yaml && fs::is_directory(folder / "images", ignored) ? folder / "images" : folder;
}

std::string default_images(const std::vector<std::string>& labels) {
  fs::path common;
  for (const std::string& path : labels) {
    const fs::path folder = fs::absolute(folder_of_images(path)).lexically_normal();
    if (common.empty()) common = folder;
    while (folder.lexically_relative(common).string().rfind("..", 0) == 0 && common.has_relative_path()) {
      common = common.parent_path();
    }
  }
  return common.string();
}

std::string described(const Json& data, const char* what, const std::string& labels, const std::string& images,
                      const std::string& split, std::vector<std::string>& notes, std::set<std::string>& pictures) {
  ReadOptions options;
  options.format = data["format"].get<std::string>();
  options.class_names = data["class_names"].get<std::string>();
  options.image_folder = images;
  options.split = split;
  options.notes = &notes;
  const CrowdData crowd = read_crowd(path_list(labels), options);
  for (const ImageRecord& image : crowd.images) pictures.insert(image.file.empty() ? image.id.text : image.file);
  std::string out = std::string(what) + ": " + (split.empty() ? "" : "the split " + split + ", ") +
                    counted(crowd.images.size(), "image") + ", " +
                    counted(crowd.annotations.size() + crowd.truth.size(), "box", "boxes") + ", " +
                    counted(crowd.classes.size(), "class", "classes");
  std::vector<std::size_t> seen(crowd.annotators.size(), 0);
  for (const Assignment& a : crowd.assignments) ++seen[static_cast<std::size_t>(a.annotator)];
  std::vector<std::string> who;
  for (std::size_t k = 0; k < seen.size() && k < 10; ++k) {
    who.push_back(printable(crowd.annotators[k].id.text) + " (" + counted(seen[k], "image") + ")");
  }
  if (!seen.empty()) {
    out += "; " + counted(seen.size(), "annotator") + ": " + bdc::join(who) + (seen.size() > 10 ? ", ..." : "");
  }
  return out;
}

}  // namespace

std::vector<std::string> complete_data(Json& config) {
  Json& data = config["data"];
  std::vector<std::string> notes;
  const std::vector<std::string> labels = path_list(data["labels"].get<std::string>());
  if (labels.empty()) return notes;
  if (!is_set(data, "images")) {
    data["images"] = default_images(labels);
    notes.push_back("images: " + data["images"].get<std::string>() + " (--images names another folder)");
  }
  if (is_set(data, "split")) return notes;
  std::vector<std::string> trained, evaluated, divided;
  for (const std::string& path : labels) {
    std::error_code ignored;
    if (!fs::exists(path, ignored)) continue;  // whoever reads it says so
    const std::vector<std::string> splits = label_splits(path, data["format"].get<std::string>());
    if (!splits.empty()) divided.push_back(path);
    if (std::find(splits.begin(), splits.end(), "train") != splits.end()) trained.push_back(path);
    if (std::find(splits.begin(), splits.end(), "val") != splits.end()) evaluated.push_back(path);
  }
  if (divided.empty()) return notes;
  if (trained.size() != divided.size()) {
    throw UserError(ExitCode::config,
                    "data.labels (--data): " + printable(divided.front()) +
                        " is divided into parts, but has none called train; name the part to train on "
                        "with --set data.split=...");
  }
  data["split"] = "train";
  notes.push_back("trained on: the split train of " + bdc::join(trained));
  const bool has_share = data["val_share"].get<double>() > 0;
  if (!evaluated.empty() && !is_set(data, "val_labels") && !has_share) {
    data["val_labels"] = bdc::join(evaluated, ",");
    data["val_split"] = "val";
    if (!is_set(data, "val_images")) data["val_images"] = data["images"];
    notes.push_back("evaluated on: the split val of " + bdc::join(evaluated));
  }
  return notes;
}

std::vector<std::string> describe_data(const Json& config) {
  const Json& data = config["data"];
  std::vector<std::string> out, notes;
  const auto text = [&](const char* key) { return data[key].get<std::string>(); };
  if (!is_set(data, "labels")) return out;
  std::set<std::string> trained, evaluated;
  out.push_back(described(data, "train", text("labels"), text("images"), text("split"), notes, trained));
  if (is_set(data, "val_labels")) {
    out.push_back(described(data, "val", text("val_labels"),
                            is_set(data, "val_images") ? text("val_images") : text("images"), text("val_split"), notes,
                            evaluated));
    const auto both = std::count_if(evaluated.begin(), evaluated.end(),
                                    [&](const std::string& picture) { return trained.count(picture) > 0; });
    if (both > 0) {
      notes.push_back(counted(static_cast<std::size_t>(both), "image") + " of what is evaluated " +
                      (both == 1 ? "has the name of one" : "have the names of images") + " that " +
                      (both == 1 ? "is" : "are") + " trained on; figures on known images say little");
    }
  }
  for (const std::string& note : notes) out.push_back("note: " + note);
  return out;
}

}  // namespace bdc::host
