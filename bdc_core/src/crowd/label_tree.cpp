#include "crowd/label_tree.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <unordered_set>

#include "base/files.h"
#include "bdc/base/error.h"
#include "bdc/base/text.h"
#include "crowd/folder_dataset.h"
#include "crowd/name_ties.h"
#include "crowd/splits.h"

namespace bdc {
namespace {

namespace fs = std::filesystem;

/// A label file and the folders between it and the folder that the user named.
struct Found {
  std::string path, stem;
  std::vector<std::string> folders;
};

/// A folder of this name holds labels and is not named after who drew them.
bool is_structure(const std::string& folder) {
  return means_labels(folder) || !split_of(folder).empty();
}

std::vector<Found> found_below(const std::string& folder, const std::vector<std::string>& files) {
  std::vector<Found> out;
  for (const std::string& file : files) {
    Found found{file, file_stem(file), {}};
    const fs::path below = fs::path(file).lexically_relative(folder).parent_path();
    for (const fs::path& part : below) {
      if (part != ".") found.folders.push_back(part.string());
    }
    out.push_back(std::move(found));
  }
  return out;
}

std::string split_in(const std::vector<std::string>& folders) {
  for (const std::string& folder : folders) {
    if (std::string split = split_of(folder); !split.empty()) return split;
    if (!means_labels(folder)) return {};  // a folder of images that happens to contain a "test"
  }
  return {};
}

/// The image's name with its folders, without those that only say "labels".
std::string long_name(const Found& file) {
  std::string out;
  for (const std::string& folder : file.folders) {
    if (!means_labels(folder)) out += from_file_name(folder) + "/";
  }
  return out + from_file_name(file.stem);
}

bool names_repeat(const std::vector<Found>& files) {
  std::unordered_set<std::string> seen;
  return std::any_of(files.begin(), files.end(), [&](const Found& file) { return !seen.insert(file.stem).second; });
}

class LabelTree {
 public:
  LabelTree(const std::string& folder, ReadContext& context) : folder_(folder), context_(context) {}

  std::vector<AnnotatorFiles> divide(std::vector<Found> files) {
    std::map<std::string, std::vector<Found>> by;  // in the order of the names
    const bool by_folder = has_annotators(files);
    for (Found& file : files) {
      std::string annotator;
      if (by_folder) {
        while (!file.folders.empty() && is_structure(file.folders.front()) && below_labels_) {
          file.folders.erase(file.folders.begin());
        }
        if (!file.folders.empty()) {
          annotator = file.folders.front();
          file.folders.erase(file.folders.begin());
        }
      }
      by[annotator].push_back(std::move(file));
    }
    keep_split(by);
    if (context_.only_lists) return {};
    const bool need_folders =
        std::any_of(by.begin(), by.end(), [](const auto& entry) { return names_repeat(entry.second); });
    std::vector<AnnotatorFiles> out;
    for (auto& [annotator, found] : by) {
      AnnotatorFiles part;
      part.annotator = annotator.empty() ? context_.source_annotator() : from_file_name(annotator);
      for (const Found& file : found) {
        part.files.push_back({file.path, need_folders ? long_name(file) : from_file_name(file.stem)});
      }
      std::vector<std::string*> names;
      for (LabelFile& file : part.files) names.push_back(&file.image);
      tie_versions(part.annotator, names, context_);
      out.push_back(std::move(part));
    }
    return out;
  }

 private:
  /// Whether folders name annotators; else all is by one.
  bool has_annotators(const std::vector<Found>& files) {
    std::set<std::string> top;
    for (const Found& file : files) {
      if (file.folders.empty()) return false;
      top.insert(file.folders.front());
    }
    const bool structure = std::all_of(top.begin(), top.end(), is_structure);
    if (!structure) return true;
    if (std::all_of(top.begin(), top.end(), [](const std::string& name) { return !split_of(name).empty(); })) {
      context_.note(printable(folder_) + ": " + join({top.begin(), top.end()}) +
                    (top.size() > 1 ? " are splits" : " is a split") + " of one data set, not annotators");
      return false;
    }
    return has_annotators_below_labels(files);
  }

  /// labels/ann/1.txt, labels/bob/1.txt: annotators, or folders of images? The pictures tell.
  bool has_annotators_below_labels(const std::vector<Found>& files) {
    std::set<std::string> next;
    std::vector<Found> inner;
    for (const Found& file : files) {
      const auto first = std::find_if_not(file.folders.begin(), file.folders.end(), is_structure);
      if (first == file.folders.end()) continue;
      next.insert(*first);
      inner.push_back(file);
    }
    below_labels_ = true;
    if (context_.options.annotator_from == AnnotatorFrom::folder && next.size() > 1) return true;
    if (next.size() < 2 || !names_repeat(inner) || !context_.options.annotator.empty()) return false;
    const auto is_listed = [&](const Found& file) {  // sizes.csv names the image with its folders
      const ImageTable::Row* row = context_.sidecar->find(long_name(file));
      return row != nullptr && row->label == long_name(file);
    };
    if (context_.sidecar && std::all_of(inner.begin(), inner.end(), is_listed)) return false;
    const std::string own = context_.pictures.beside(inner.front().path);
    if (!own.empty()) return false;  // images/ann/1.jpg: the folders are the images'
    const fs::path label(inner.front().path);
    // images/1.jpg: several people labelled it
    fs::path folder = label.parent_path();
    while (folder.has_filename() && !is_structure(folder.filename().string())) folder = folder.parent_path();
    if (!context_.pictures.beside((folder / label.filename()).string()).empty()) {
      context_.note(printable(folder_) + ": the folders " + join({next.begin(), next.end()}) +
                    " label the same pictures, so they are annotators");
      return true;
    }
    throw DataError(
        folder_ + ": the folders " + printable(join({next.begin(), next.end()})) +
        " hold files of the same names, and there are no pictures beside them that tell whether the folders "
        "are annotators or belong to the images' names; say --annotator-from folder (annotators) or "
        "--annotator NAME (all by one)");
  }

  void keep_split(std::map<std::string, std::vector<Found>>& by) {
    std::vector<std::string> splits;
    for (const auto& [annotator, files] : by) {
      for (const Found& file : files) splits.push_back(split_in(file.folders));
    }
    context_.saw_splits(folder_, splits);
    const std::string& wanted = context_.options.split;
    if (wanted.empty() || std::all_of(splits.begin(), splits.end(), [](const auto& split) { return split.empty(); }))
      return;
    for (auto entry = by.begin(); entry != by.end();) {
      auto& files = entry->second;
      files.erase(std::remove_if(files.begin(), files.end(),
                                 [&](const Found& file) { return split_in(file.folders) != wanted; }),
                  files.end());
      entry = files.empty() ? by.erase(entry) : std::next(entry);
    }
  }

  const std::string& folder_;
  ReadContext& context_;
  bool below_labels_ = false;  ///< annotators' folders, if any, stand below "labels"
};

}  // namespace

bool means_labels(const std::string& folder) {
  const std::string name = lower_case(folder);
  for (const char* known : {"labels", "label", "annotations", "obj_train_data", "obj_valid_data", "obj_test_data"}) {
    if (name == known) return true;
  }
  return false;
}

std::vector<AnnotatorFiles> label_tree(const std::string& folder, const std::vector<std::string>& files,
                                       ReadContext& context) {
  return LabelTree(folder, context).divide(found_below(folder, files));
}

void tie_versions(const std::string& annotator, const std::vector<std::string*>& names, ReadContext& context) {
  std::map<std::string, std::size_t> count;
  for (const std::string* name : names) {
    if (const std::string before = before_roboflow(*name); !before.empty()) ++count[before];
  }
  if (count.empty()) return;
  for (std::string* name : names) {
    const std::string before = before_roboflow(*name);
    if (before.empty()) continue;
    const bool alone = count[before] == 1;
    const auto [at, is_new] = context.versions.try_emplace(before, ReadContext::Version{*name, annotator, alone});
    if (is_new || !alone || !at->second.alone || at->second.annotator == annotator || at->second.name == *name)
      continue;
    *name = at->second.name;
    ++context.versions_tied;
  }
}

void add_folder_name_loss(const CrowdData& data, WriteReport& report) {
  std::set<std::string> folders;
  for (const Assignment& a : data.assignments) {
    folders.insert(data.annotators[static_cast<std::size_t>(a.annotator)].id.text);
  }
  if (folders.empty() || !std::all_of(folders.begin(), folders.end(), is_structure)) return;
  add_loss(report, "annotators named like folders of a data set (labels, train, test), who read back as one",
           folders.size());
}

bool is_no_label_file(const std::string& path) {
  const std::string stem = file_stem(path);
  if (is_reserved_label_name(stem)) return true;
  // LICENSE.txt and README.roboflow.txt, but not license_plate_1.txt.
  const std::string name = lower_case(stem);
  const std::string word = name.substr(0, name.find('.'));
  for (const char* known : {"readme", "license", "licence", "notice", "changelog", "requirements", "_darknet"}) {
    if (word == known) return true;
  }
  return false;
}

}  // namespace bdc
