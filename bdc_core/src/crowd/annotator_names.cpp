#include "crowd/annotator_names.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "base/files.h"
#include "base/zip_folder.h"
#include "bdc/base/error.h"
#include "bdc/base/text.h"
#include "crowd/data_yaml.h"
#include "crowd/splits.h"

namespace bdc {
namespace {

namespace fs = std::filesystem;

/// The parts of a path; the last one, and a zip file's, without the extension.
std::vector<std::string> parts_of(const std::string& path) {
  std::error_code error;
  fs::path full = fs::absolute(path, error).lexically_normal();
  if (!full.has_filename()) full = full.parent_path();
  std::vector<std::string> parts;
  for (const fs::path& part : full.relative_path()) parts.push_back(part.string());
  const std::string zip = up_to_zip(path);
  if (zip != path) {
    fs::path archive = fs::absolute(zip, error).lexically_normal().relative_path();
    const auto at = static_cast<std::size_t>(std::distance(archive.begin(), archive.end()));
    if (at > 0 && at <= parts.size()) parts[at - 1] = file_stem(parts[at - 1]);
  }
  if (parts.size() > 1 && is_yaml_name(path)) {
    parts.pop_back();  // every data set's is called data.yaml
    return parts;
  }
  if (!parts.empty() && (!is_folder(path) || ends_with(lower_case(path), ".zip")))
    parts.back() = file_stem(parts.back());
  return parts;
}

using Parts = std::vector<std::vector<std::string>>;

/// How many parts all paths share in front; never the last one.
std::size_t shared_parts(const Parts& parts) {
  std::size_t shared = 0;
  while (std::all_of(parts.begin(), parts.end(), [&](const auto& path) {
    return shared + 1 < path.size() && path[shared] == parts.front()[shared];
  })) {
    ++shared;
  }
  return shared;
}

std::vector<std::string> column(const Parts& parts, std::size_t index) {
  std::vector<std::string> out;
  for (const auto& path : parts) out.push_back(index < path.size() ? path[index] : std::string());
  return out;
}

std::vector<std::string> last_parts(const Parts& parts) {
  std::vector<std::string> out;
  for (const auto& path : parts) out.push_back(path.empty() ? std::string() : path.back());
  return out;
}

/// The nearest folder above a part of a path that is not called "annotations" or the like.
std::string name_above(const std::vector<std::string>& path, std::size_t part) {
  const auto says_labels = [](const std::string& folder) {
    const std::string name = lower_case(folder);
    return name == "annotations" || name == "labels";
  };
  while (part > 0 && says_labels(path[part - 1])) --part;
  return part > 0 ? from_file_name(path[part - 1]) : std::string("labels");
}

std::size_t distinct(const std::vector<std::string>& names) {
  return std::set<std::string>(names.begin(), names.end()).size();
}

std::vector<std::string> decoded(std::vector<std::string> names) {
  for (std::string& name : names) name = from_file_name(name);
  return names;
}

[[noreturn]] void refuse(const std::vector<std::string>& paths, const std::string& why) {
  throw DataError(printable(paths.front()) + " and " + std::to_string(paths.size() - 1) + " more: " + why +
                  "; say with --annotator-from file (files of one name are one annotator's) or --annotator-from folder "
                  "(files in one folder are), or convert each annotator's files on their own with --annotator NAME");
}

SourceNames by_folder(const std::vector<std::string>& paths, const Parts& parts, bool asked) {
  if (paths.size() == 1) {
    const auto& path = parts.front();
    return {decoded({path.size() > 1 ? path[path.size() - 2] : path.back()}), {}};
  }
  const std::size_t shared = shared_parts(parts);
  std::vector<std::string> names = column(parts, shared);
  const bool one_each = distinct(names) == names.size();
  const bool are_files =
      std::any_of(parts.begin(), parts.end(), [&](const auto& path) { return shared + 1 >= path.size(); });
  if (are_splits(names)) {
    const std::string above = name_above(parts.front(), shared);
    return {
        std::vector<std::string>(paths.size(), above),
        some_names(names) + " are splits of one data set, not annotators; all their boxes are by " + in_quotes(above)};
  }
  if (asked && are_files) refuse(paths, "the files are not all in folders of their own");
  if (!one_each && !asked) refuse(paths, "files have the same name and no single folder tells who drew which");
  return {decoded(names), "", true};
}

SourceNames names_of_parts(const std::vector<std::string>& paths, const Parts& parts, AnnotatorFrom from) {
  const std::vector<std::string> last = last_parts(parts);
  if (std::all_of(parts.begin(), parts.end(), [&](const auto& path) { return path == parts.front(); })) {
    return {decoded(last), {}};  // one file of a zip file, or files that differ in their extensions
  }
  if (from == AnnotatorFrom::folder) return by_folder(paths, parts, true);
  const std::size_t different = distinct(last);
  if (from == AnnotatorFrom::file || paths.size() == 1) return {decoded(last), {}};
  if (different == last.size()) {
    // train.json and valid.json, or the folders train and valid: parts of one data set.
    if (are_splits(last)) return by_folder(paths, parts, false);
    if (const std::vector<std::string> splits = splits_among(last); !splits.empty()) {
      throw DataError(printable(paths.front()) + " and " + std::to_string(paths.size() - 1) +
                      " more: " + some_names(splits) +
                      " seem to be splits of one data set, and the other files are none of it, so it cannot be known "
                      "who drew; name the files to read, or say --annotator-from file if each is an annotator's");
    }
    return SourceNames{decoded(last), {}};
  }
  if (different > 1)
    refuse(paths, "some of the files have the same name and some have not, so it cannot be known who drew");
  return by_folder(paths, parts, false);
}

/// Paths that are all of splits: each annotator's splits are one.
SourceNames by_rest(const std::vector<std::string>& paths, const Parts& parts, const std::vector<std::string>& splits,
                    AnnotatorFrom from) {
  Parts rests;
  std::vector<std::string> first_paths, folders;
  std::vector<std::size_t> rest_of;
  std::set<std::pair<std::size_t, std::string>> seen;
  std::size_t at = 0;
  for (std::size_t n = 0; n < parts.size(); ++n) {
    std::vector<std::string> rest = parts[n];
    at = rest.size() - 1;
    while (at > 0 && split_of(rest[at]) != splits[n]) --at;
    if (at == 0) return names_of_parts(paths, parts, from);  // only the names together tell: street_train, street_test
    folders.push_back(rest[at]);
    if (at + 1 == rest.size()) {
      rest[at] = "labels";
    } else {
      rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(at));
    }
    const auto known = std::find(rests.begin(), rests.end(), rest);
    rest_of.push_back(static_cast<std::size_t>(known - rests.begin()));
    if (!seen.insert({rest_of.back(), folders.back()}).second) return names_of_parts(paths, parts, from);
    if (known != rests.end()) continue;
    rests.push_back(std::move(rest));
    first_paths.push_back(paths[n]);
  }
  SourceNames out;
  const std::string are = some_names(folders) + " are splits of one data set, not annotators";
  if (rests.size() == 1) {
    const std::string above = name_above(parts.back(), at);
    out.annotators.assign(paths.size(), above);
    out.note = are + "; all their boxes are by " + in_quotes(above);
    return out;
  }
  const SourceNames unique = names_of_parts(first_paths, rests, from);
  for (const std::size_t rest : rest_of) out.annotators.push_back(unique.annotators[rest]);
  out.note = are + (unique.note.empty() ? "" : "; " + unique.note);
  out.by_folder = unique.by_folder;
  return out;
}

}  // namespace

std::string some_names(const std::vector<std::string>& names) {
  const std::set<std::string> different(names.begin(), names.end());
  std::vector<std::string> shown;
  for (const std::string& name : different) {
    if (shown.size() == 4) break;
    shown.push_back(in_quotes(name));
  }
  return join(shown) + (different.size() > shown.size() ? ", ..." : "");
}

SourceNames names_of_sources(const std::vector<std::string>& paths, AnnotatorFrom from,
                             const std::vector<std::string>& splits) {
  Parts parts;
  std::set<std::string> seen;
  std::map<std::string, std::size_t> of_zip;
  for (const std::string& path : paths) ++of_zip[up_to_zip(path)];
  for (const std::string& path : paths) {
    const std::string zip = up_to_zip(path);
    parts.push_back(parts_of(of_zip[zip] == 1 ? zip : path));
    std::error_code error;
    if (!seen.insert(fs::weakly_canonical(path, error).string()).second) {
      throw DataError(path + ": is named twice; its boxes would count twice");
    }
  }
  const bool divided = splits.size() == paths.size() && paths.size() > 1 && from != AnnotatorFrom::file &&
                       std::none_of(splits.begin(), splits.end(), [](const auto& split) { return split.empty(); });
  return divided ? by_rest(paths, parts, splits, from) : names_of_parts(paths, parts, from);
}

}  // namespace bdc
