#include "crowd/label_tree.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "base/files.h"
#include "bdc/base/error.h"
#include "bdc/base/text.h"
#include "crowd/annotator_names.h"
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
  std::vector<std::size_t> telling;  ///< the places in `folders` of those that say more than "labels" or "train"
};

/// A folder of this name holds labels and is not named after who drew them.
bool is_structure(const std::string& folder) {
  return means_labels(folder) || !split_of(folder).empty();
}

std::vector<Found> found_below(const std::string& folder, const std::vector<std::string>& files) {
  std::vector<Found> out;
  std::unordered_map<std::string, bool> structure;
  for (const std::string& file : files) {
    Found found{file, file_stem(file), {}, {}};
    const fs::path below = fs::path(file).lexically_relative(folder).parent_path();
    for (const fs::path& part : below) {
      if (part == ".") continue;
      const auto [known, is_new] = structure.try_emplace(part.string(), false);
      if (is_new) known->second = is_structure(known->first);
      if (!known->second) found.telling.push_back(found.folders.size());
      found.folders.push_back(known->first);
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

/// One of the telling folders of every file: how its siblings share pictures.
struct Level {
  std::set<std::string> names;
  std::vector<std::pair<const Found*, const Found*>> shared;  ///< files of one name below siblings, a few of them
  bool in_all = true;                                         ///< every file has a folder there
  bool top = true;                                            ///< it is the first folder of every file
};

constexpr std::size_t max_shared = 20, max_depth = 16;

Level level_of(const std::vector<Found>& files, std::size_t depth) {
  Level out;
  std::map<std::string, const Found*> first;
  for (const Found& file : files) {
    if (file.telling.size() <= depth) {
      out.in_all = false;
      continue;
    }
    const std::size_t at = file.telling[depth];
    out.names.insert(file.folders[at]);
    out.top = out.top && (at == depth);
    std::string rest;  // where the file stands but for this folder
    for (std::size_t n = 0; n < file.folders.size(); ++n) {
      if (n == at || !means_labels(file.folders[n])) rest += (n == at ? std::string() : file.folders[n]) + '/';
    }
    const std::string before = before_roboflow(file.stem);
    const auto [other, is_new] = first.try_emplace(rest + (before.empty() ? file.stem : before), &file);
    if (is_new || out.shared.size() == max_shared) continue;
    if (other->second->folders[other->second->telling[depth]] != file.folders[at]) {
      out.shared.emplace_back(other->second, &file);
    }
  }
  return out;
}

/// Whether two files hold the same, as far as their first bytes tell.
bool look_equal(const std::string& a, const std::string& b) {
  std::array<std::string, 2> start;
  std::array<std::ifstream, 2> in = {open_input(a), open_input(b)};
  for (std::size_t n = 0; n < 2; ++n) {
    start[n].resize(std::size_t{1} << 16);
    in[n].read(start[n].data(), static_cast<std::streamsize>(start[n].size()));
    start[n].resize(static_cast<std::size_t>(in[n].gcount()));
  }
  return start[0] == start[1];
}

class LabelTree {
 public:
  LabelTree(const std::string& folder, ReadContext& context) : folder_(folder), context_(context) {}

  std::vector<AnnotatorFiles> divide(std::vector<Found> files) {
    std::map<std::string, std::vector<Found>> by;  // in the order of the names
    const std::optional<std::size_t> depth = depth_of_annotators(files);
    for (Found& file : files) {
      std::string annotator;
      if (depth && file.telling.size() > *depth) {
        const std::size_t at = file.telling[*depth];
        annotator = file.folders[at];
        file.folders.erase(file.folders.begin() + static_cast<std::ptrdiff_t>(at));
      }
      by[annotator].push_back(std::move(file));
    }
    if (depth) leave_out_wrapper(by, *depth);
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
  /// Which of the telling folders is the annotator's; nothing: all is by one.
  std::optional<std::size_t> depth_of_annotators(const std::vector<Found>& files) {
    if (files.empty() || !context_.options.annotator.empty()) return std::nullopt;
    std::size_t deepest = 0;
    for (const Found& file : files) deepest = std::max(deepest, file.telling.size());
    std::vector<Level> levels;
    for (std::size_t depth = 0; depth < std::min(deepest, max_depth); ++depth) levels.push_back(level_of(files, depth));
    if (levels.empty()) {
      tell_splits(files);
      return std::nullopt;
    }
    const bool asked = context_.options.annotator_from == AnnotatorFrom::folder;
    for (std::size_t depth = 0; depth < levels.size(); ++depth) {
      const Level& level = levels[depth];
      if (level.names.size() < 2) continue;
      if (asked) return depth;
      if (level.shared.empty()) continue;
      if (!level.in_all) {
        if (are_listed(level)) continue;
        refuse_loose(files, level, depth);
      }
      if (depth > 0 || !level.top) {
        if (are_of_images(level)) continue;
        context_.note(printable(folder_) + ": the folders " + some_names({level.names.begin(), level.names.end()}) +
                      " label the same pictures, so they are annotators");
      }
      for (std::size_t below = depth + 1; below < levels.size(); ++below) {
        if (levels[below].shared.empty()) continue;
        context_.note(printable(folder_) + ": the folders " + some_names({level.names.begin(), level.names.end()}) +
                      " are taken for annotators, and those in them (" +
                      some_names({levels[below].names.begin(), levels[below].names.end()}) +
                      ") for parts of the pictures' names");
        break;
      }
      return depth;
    }
    const Level& top = levels.front();
    if (top.in_all && top.top) return 0;
    tell_splits(files);
    tell_loose(files, top);
    return std::nullopt;
  }

  /// Folders that share no picture are the splits of one data set where they are called so.
  void tell_splits(const std::vector<Found>& files) {
    std::set<std::string> top;
    for (const Found& file : files) top.insert(file.folders.empty() ? std::string() : file.folders.front());
    if (!std::all_of(top.begin(), top.end(), [](const std::string& name) { return !split_of(name).empty(); })) return;
    context_.note(printable(folder_) + ": " + join({top.begin(), top.end()}) +
                  (top.size() > 1 ? " are splits" : " is a split") + " of one data set, not annotators");
  }

  /// Label files beside folders of label files: all are by one, which may not be what was meant.
  void tell_loose(const std::vector<Found>& files, const Level& top) {
    const auto loose = std::find_if(files.begin(), files.end(), [](const Found& file) { return file.telling.empty(); });
    if (!top.top || loose == files.end()) return;
    context_.note(printable(folder_) + ": labels lie beside the folders " +
                  some_names({top.names.begin(), top.names.end()}) + ", as " + printable(loose->path) +
                  " does, so all are taken for one annotator's");
  }

  /// Whether sizes.csv names the images with these folders.
  [[nodiscard]] bool are_listed(const Level& level) const {
    if (!context_.sidecar) return false;
    const auto is_listed = [&](const Found* file) {
      const ImageTable::Row* row = context_.sidecar->find(long_name(*file));
      return row != nullptr && row->label == long_name(*file);
    };
    return std::all_of(level.shared.begin(), level.shared.end(),
                       [&](const auto& pair) { return is_listed(pair.first) && is_listed(pair.second); });
  }

  /// Whether folders that hold files of the same names belong to the images' names: the pictures tell. Throws
  /// DataError where they may be either.
  bool are_of_images(const Level& level) {
    if (are_listed(level)) return true;
    for (const auto& [one, other] : level.shared) {
      const std::string picture = context_.pictures.beside(one->path), its = context_.pictures.beside(other->path);
      // images/ann/1.jpg: the folders are the images', unless each annotator has a copy.
      if (!picture.empty() && !its.empty() && picture != its) return !look_equal(picture, its);
    }
    const Found& first = *level.shared.front().first;
    if (level.top || !picture_above(first).empty()) return false;
    throw DataError(
        folder_ + ": the folders " + printable(join({level.names.begin(), level.names.end()})) +
        " hold files of the same names, and there are no pictures beside them that tell whether the folders "
        "are annotators or belong to the images' names; say --annotator-from folder (annotators) or "
        "--annotator NAME (all by one)");
  }

  /// images/1.jpg of labels/ann/1.txt, which several people labelled.
  [[nodiscard]] std::string picture_above(const Found& file) const {
    const fs::path label(file.path);
    fs::path folder = label.parent_path();
    while (folder.has_filename() && !is_structure(folder.filename().string())) folder = folder.parent_path();
    return context_.pictures.beside((folder / label.filename()).string());
  }

  [[noreturn]] void refuse_loose(const std::vector<Found>& files, const Level& level, std::size_t depth) const {
    const auto loose =
        std::find_if(files.begin(), files.end(), [&](const Found& file) { return file.telling.size() <= depth; });
    throw DataError(printable(loose->path) + ": lies beside the folders " +
                    some_names({level.names.begin(), level.names.end()}) +
                    ", which label the same pictures as annotators' folders do; put it into its annotator's folder, or "
                    "say --annotator NAME if all is by one person");
  }

  /// Folders above the annotators' that all files have in common are no part of the pictures' names.
  static void leave_out_wrapper(std::map<std::string, std::vector<Found>>& by, std::size_t depth) {
    for (; depth > 0; --depth) {
      std::set<std::string> first;
      for (const auto& [annotator, files] : by) {
        for (const Found& file : files) first.insert(file.folders.empty() ? std::string() : file.folders.front());
      }
      if (first.size() != 1 || is_structure(*first.begin())) return;
      for (auto& [annotator, files] : by) {
        for (Found& file : files) file.folders.erase(file.folders.begin());
      }
    }
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
};

}  // namespace

std::string folder_of_image(const std::string& picture, const std::string& image_name, const std::string& annotator) {
  std::string plain = picture;
  std::replace(plain.begin(), plain.end(), '\\', '/');
  const std::string stem = file_stem(plain);
  if (stem.empty() || stem == image_name.substr(image_name.rfind('/') + 1) || stem != annotator) return {};
  return "expected a folder per annotator with a file per image, found the folder " + in_quotes(annotator) +
         " called like the picture " + in_quotes(picture) +
         "; put each annotator's files, called like their pictures, into a folder of their own";
}

bool means_labels(const std::string& folder) {
  const std::string name = lower_case(folder);
  for (const char* known : {"labels", "label", "annotations", "obj_train_data", "obj_valid_data", "obj_test_data"}) {
    if (name == known) return true;
  }
  return false;
}

std::vector<AnnotatorFiles> label_tree(const std::string& folder, const std::vector<std::string>& files,
                                       ReadContext& context) {
  context.accounted.insert(files.begin(), files.end());
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
