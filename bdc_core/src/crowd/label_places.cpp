#include "crowd/label_places.h"

#include <algorithm>
#include <fstream>
#include <string_view>

#include "base/files.h"
#include "base/zip_folder.h"
#include "bdc/base/error.h"
#include "bdc/base/text.h"
#include "crowd/data_yaml.h"
#include "crowd/format.h"
#include "crowd/splits.h"
#include "crowd/unread_files.h"

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

/// A folder of zip files alone stands for these, as if each were named.
LabelPlaces zip_files_in(const std::string& folder, const ReadOptions& options) {
  LabelPlaces out;
  if (ends_with(lower_case(folder), ".zip")) return out;
  for (const std::string& zip : files_below(folder, {".zip"})) {
    const LabelPlaces inside = label_places(zip, options);
    if (out.paths.empty()) out.whole = inside.whole;
    out.paths.insert(out.paths.end(), inside.paths.begin(), inside.paths.end());
    out.splits.insert(out.splits.end(), inside.splits.begin(), inside.splits.end());
  }
  return out;
}

/// Where some files are splits and others are not (train, val and all), the splits are what one of them is read from.
void keep_splits(const std::string& folder, const ReadOptions& options, LabelPlaces& places) {
  std::vector<std::string> names;
  for (const std::string& path : places.paths) names.push_back(file_stem(path));
  const bool divided =
      std::any_of(places.splits.begin(), places.splits.end(), [](const auto& split) { return !split.empty(); });
  if (divided || splits_among(names).empty()) return;
  LabelPlaces kept;
  kept.whole = places.whole;
  for (std::size_t n = 0; n < names.size(); ++n) {
    if (!split_of(names[n]).empty()) {
      kept.paths.push_back(places.paths[n]);
      continue;
    }
    kept.left_out.push_back(places.paths[n]);
    if (options.notes != nullptr) {
      options.notes->push_back(printable(places.paths[n]) + ": is no split and is left out");
    }
  }
  kept.splits = splits_below(folder, kept.paths);
  if (!kept.paths.empty()) places = std::move(kept);
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
  if (folder && whole == nullptr && out.paths.empty()) out = zip_files_in(path, options);
  if (!out.paths.empty() && out.splits.size() == out.paths.size()) return out;
  if (out.paths.empty()) return {{path}, {std::string()}, {}, whole};
  out.splits = splits_below(path, out.paths);
  if (!options.split.empty()) keep_splits(path, options, out);
  return out;
}

void leave_out_own_consensus(const std::string& given, bool alone, LabelPlaces& places, const ReadOptions& options) {
  if (options.role != BoxRole::crowd || (alone && places.paths.size() == 1)) return;
  std::vector<bool> own;
  for (const std::string& path : places.paths) own.push_back(!is_folder(path) && is_own_consensus(path));
  const auto count = static_cast<std::size_t>(std::count(own.begin(), own.end(), true));
  if (count == 0 || (alone && count == own.size())) return;
  if (!is_folder(given)) {
    throw DataError(given +
                    ": expected an annotator's labels, found a consensus that bdc wrote, which would confirm itself; "
                    "leave it out");
  }
  LabelPlaces kept;
  kept.whole = places.whole;
  kept.left_out = places.left_out;
  for (std::size_t n = 0; n < own.size(); ++n) {
    if (own[n]) {
      kept.left_out.push_back(places.paths[n]);
      if (options.notes != nullptr) {
        options.notes->push_back(printable(places.paths[n]) +
                                 ": is a consensus that bdc wrote and no annotator's labels, and is left out");
      }
      continue;
    }
    kept.paths.push_back(places.paths[n]);
    kept.splits.push_back(places.splits[n]);
  }
  places = std::move(kept);
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
