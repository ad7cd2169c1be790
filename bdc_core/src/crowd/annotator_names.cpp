#include "crowd/annotator_names.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "base/files.h"
#include "base/zip_folder.h"
#include "bdc/base/error.h"
#include "bdc/base/text.h"
#include "crowd/data_yaml.h"
#include "crowd/splits.h"

namespace bdc {
namespace {

namespace fs = std::filesystem;

/// The parts of a path; the last one without its extension when it is a file's. What is in a zip file is the zip
/// file's.
std::vector<std::string> parts_of(const std::string& path_or_inside) {
  const std::string path = up_to_zip(path_or_inside);
  std::error_code error;
  fs::path full = fs::absolute(path, error).lexically_normal();
  if (!full.has_filename()) full = full.parent_path();
  std::vector<std::string> parts;
  for (const fs::path& part : full.relative_path()) parts.push_back(part.string());
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

std::size_t distinct(const std::vector<std::string>& names) {
  return std::set<std::string>(names.begin(), names.end()).size();
}

std::vector<std::string> decoded(std::vector<std::string> names) {
  for (std::string& name : names) name = from_file_name(name);
  return names;
}

std::string some_names(const std::vector<std::string>& names) {
  const std::set<std::string> different(names.begin(), names.end());
  std::vector<std::string> shown;
  for (const std::string& name : different) {
    if (shown.size() == 4) break;
    shown.push_back(in_quotes(name));
  }
  return join(shown) + (different.size() > shown.size() ? ", ..." : "");
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
    const std::string above = shared > 0 ? parts.front()[shared - 1] : std::string("labels");
    return {std::vector<std::string>(paths.size(), from_file_name(above)),
            some_names(names) + " are splits of one data set, not annotators; all their boxes are by " +
                in_quotes(from_file_name(above))};
  }
  if (asked && are_files) refuse(paths, "the files are not all in folders of their own");
  if (!one_each && !asked) refuse(paths, "files have the same name and no single folder tells who drew which");
  return {decoded(names), "annotators are named after folders: " + some_names(names)};
}

}  // namespace

SourceNames names_of_sources(const std::vector<std::string>& paths, AnnotatorFrom from) {
  Parts parts;
  std::set<std::string> seen;
  for (const std::string& path : paths) {
    parts.push_back(parts_of(path));
    std::error_code error;
    if (!seen.insert(fs::weakly_canonical(path, error).string()).second) {
      throw DataError(path + ": is named twice; its boxes would count twice");
    }
  }
  const std::vector<std::string> last = last_parts(parts);
  if (std::all_of(parts.begin(), parts.end(), [&](const auto& path) { return path == parts.front(); })) {
    return {decoded(last), {}};  // all in one zip file
  }
  if (from == AnnotatorFrom::folder) return by_folder(paths, parts, true);
  const std::size_t different = distinct(last);
  if (from == AnnotatorFrom::file || paths.size() == 1) return {decoded(last), {}};
  if (different == last.size()) {
    // train.json and valid.json, or the folders train and valid: parts of one data set.
    return are_splits(last) ? by_folder(paths, parts, false) : SourceNames{decoded(last), {}};
  }
  if (different > 1)
    refuse(paths, "some of the files have the same name and some have not, so it cannot be known who drew");
  return by_folder(paths, parts, false);
}

}  // namespace bdc
