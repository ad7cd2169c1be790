#include "crowd/label_places.h"

#include <fstream>
#include <string_view>

#include "base/files.h"
#include "base/zip_folder.h"
#include "bdc/base/error.h"
#include "bdc/base/text.h"
#include "crowd/data_yaml.h"
#include "crowd/format.h"
#include "crowd/splits.h"

namespace bdc {
namespace {

/// Whether a file alone is labels of the format that is asked for.
bool is_wanted(const std::string& file, const ReadOptions& options) {
  const CrowdFormat* format = detected_crowd_format(file);
  if (!options.columns.empty() && !ends_with(lower_case(file), ".json")) return true;
  if (format == nullptr) return false;
  const std::string_view name = format->name;
  return options.format.empty() || options.format == name || (options.format == "coco" && name == "crowd");
}

/// The format of a folder that is labels as a whole; null when it is not.
const CrowdFormat* format_of_whole(const std::string& folder, const ReadOptions& options) {
  if (options.format.empty()) return detected_crowd_format(folder);
  const CrowdFormat& format = crowd_format(options.format);
  return format.detect != nullptr && format.detect(folder) ? &format : nullptr;
}

}  // namespace

LabelPlaces label_places(const std::string& path, const ReadOptions& options) {
  LabelPlaces out;
  if (options.notes != nullptr && ends_with(lower_case(path), ".zip") && is_folder(path)) {
    for (const std::string& inner : files_below(path, {".zip"})) {
      options.notes->push_back(printable(inner) + ": a zip file inside of a zip file is not read; unpack it first");
    }
  }
  const bool folder = is_folder(path);
  const CrowdFormat* whole = folder ? format_of_whole(path, options) : nullptr;
  if (folder && whole == nullptr) {
    for (const std::string& file : files_below(path, {".json", ".csv", ".tsv", ".manifest"})) {
      if (is_wanted(file, options)) out.paths.push_back(file);
    }
  }
  if (out.paths.empty()) return {{path}, {std::string()}, whole};
  out.splits = splits_below(path, out.paths);
  return out;
}

std::vector<std::string> label_splits(const std::string& path, const std::string& format_name) {
  ReadOptions options;
  options.format = format_name;
  ProblemLog problems(ProblemLog::Mode::lenient);
  CrowdBuilder builder(BoxRole::crowd, problems, false);
  ReadContext context(options, builder);
  context.only_lists = true;
  if (!is_folder(path)) {
    if (!is_yaml_name(path)) return {};
    std::ifstream in = open_input(path);
    for (const DataYaml::Split& split : read_data_yaml(in, path).splits) context.splits_seen.insert(split.name);
  } else {
    const LabelPlaces places = label_places(path, options);
    context.saw_splits(path, places.splits);
    if (places.paths.front() == path) {
      const CrowdFormat* format = format_name.empty() ? detected_crowd_format(path) : &crowd_format(format_name);
      context.paths = context.sources = {path};
      if (format != nullptr) format->read(path, context);
    }
  }
  std::vector<std::string> out;
  for (const char* split : {"train", "val", "test"}) {
    if (context.splits_seen.count(split) > 0) out.emplace_back(split);
  }
  return out;
}

}  // namespace bdc
