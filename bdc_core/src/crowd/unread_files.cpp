#include "crowd/unread_files.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <vector>

#include "base/files.h"
#include "base/zip_folder.h"
#include "bdc/base/error.h"
#include "bdc/base/json_stream.h"
#include "bdc/base/text.h"
#include "crowd/folder_dataset.h"
#include "crowd/foreign_formats.h"
#include "crowd/json_records.h"
#include "crowd/label_tree.h"

namespace bdc {
namespace {

namespace fs = std::filesystem;

/// Of files with one extension so many are looked into; the others are counted.
constexpr std::size_t max_looked = 50;
/// A larger file of JSON that breaks off is recognised by what comes first.
constexpr std::size_t max_broken = std::size_t{1} << 20;

std::string extension_of(const std::string& file) {
  return lower_case(fs::path(file).extension().string());
}

/// Extensions of files that may hold labels, or archives of them.
bool may_hold_labels(const std::string& extension) {
  for (const char* known : {".json", ".jsonl",   ".ndjson", ".xml", ".csv", ".tsv", ".txt",      ".manifest",
                            ".odgt", ".parquet", ".xlsx",   ".xls", ".ods", ".pkl", ".zip",      ".gz",
                            ".tgz",  ".bz2",     ".xz",     ".tar", ".7z",  ".rar", ".tfrecord", ".record"}) {
    if (extension == known) return true;
  }
  return false;
}

/// What lies beside labels of any format and says something about them.
bool goes_with_labels(const std::string& file) {
  const std::string name = lower_case(fs::path(file).filename().string());
  return ends_with(name, "sizes.csv") || name == "classes.txt" || name == "obj.names" || name == "meta.json" ||
         name == "notes.json" || (extension_of(file) == ".txt" && is_reserved_label_name(file_stem(file)));
}

/// Where a file is empty, or is JSON that breaks off: what is wrong with it.
std::string broken(const std::string& file) {
  std::ifstream in = open_input(file);
  const int first = first_character(in);
  if (first < 0) return "is empty";
  if (extension_of(file) != ".json") return {};
  if (first != '{' && first != '[') return {};
  std::string text(max_broken, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(in.gcount()));
  if (text.size() == max_broken) return {};
  try {
    std::istringstream whole(text);
    JsonReader json(whole, file);
    json.skip();
    json.finish();
    return {};
  } catch (const DataError& error) {
    const std::string what = error.what();
    return "cannot be read" + (what.rfind(file, 0) == 0 ? what.substr(file.size()) : ": " + what);
  }
}

/// What to do with a packed file; empty for any other.
std::string packed(const std::string& extension) {
  if (extension == ".zip") return "a zip file; name it by itself, or unpack it";
  for (const char* known : {".gz", ".tgz", ".bz2", ".xz", ".tar", ".7z", ".rar"}) {
    if (extension == known) return "packed; unpack it first";
  }
  return {};
}

/// Whether a file is a table that `report --relabel-csv` or `plan` wrote, by its first columns.
bool is_own_table(const std::string& file) {
  if (extension_of(file) != ".csv") return false;
  std::ifstream in = open_input(file);
  std::string start(64, '\0');
  in.read(start.data(), static_cast<std::streamsize>(start.size()));
  if (start.rfind("\xef\xbb\xbf", 0) == 0) start.erase(0, 3);
  return start.rfind("rank,expected_gain,image_id,", 0) == 0 ||
         start.rfind("rank,image_id,file_name,annotator_id,", 0) == 0;
}

/// What an unread file seems to be, for people.
std::string seems(const std::string& file, const std::string& extension) {
  std::ifstream in = open_input(file);
  const int first = first_character(in);
  if (first < 0) return "is empty";
  if (is_own_consensus(file)) return "a consensus that bdc wrote, and no annotator's labels";
  if (is_own_table(file)) return "a table that bdc wrote, and no annotator's labels";
  if (extension == ".txt" && (first == '{' || first == '[' || first == '<')) {
    return "JSON or XML under another name; give it its extension";
  }
  if (const CrowdFormat* format = detected_crowd_format(file)) {
    return "labels of the format " + in_quotes(format->name);
  }
  if (const std::string foreign = foreign_format(file); !foreign.empty()) return "looks like " + foreign;
  return extension == ".txt" ? "" : "no labels are recognised in it";
}

/// Files that are left out for one reason.
struct LeftOut {
  std::string first;
  std::size_t count = 0;
};

/// Whether a zip file in the folder is read, or one of its files is.
bool is_read_archive(const std::string& zip, const ReadContext& context) {
  const std::string inside = fs::path(zip).lexically_normal().string() + "/";
  return std::any_of(context.paths.begin(), context.paths.end(), [&](const std::string& path) {
    return (fs::path(path).lexically_normal().string() + "/").rfind(inside, 0) == 0;
  });
}

void count(LeftOut& row, const std::string& file) {
  if (row.count++ == 0) row.first = file;
}

}  // namespace

bool is_own_consensus(const std::string& path) {
  return probe_json(path, [](JsonReader& json) {
    if (json.peek() != JsonReader::Type::object) return false;
    json.begin_object();
    while (json.next_member()) {
      if (json.key() != "annotations" || json.peek() != JsonReader::Type::array) {
        json.skip();
        continue;
      }
      if (!begin_list_of_objects(json)) return false;
      bool weight = false, probabilities = false;
      while (json.next_member()) {
        weight = weight || json.key() == "weight";
        probabilities = probabilities || json.key() == "class_probs";
        json.skip();
      }
      return weight && probabilities;
    }
    return false;
  });
}

void tell_unread_files(const std::string& folder, const CrowdFormat& format, ReadContext& context) {
  if (!is_folder(folder)) return;
  std::set<std::string> read_extensions;
  for (const std::string& file : context.accounted) read_extensions.insert(extension_of(file));
  std::map<std::string, LeftOut> reasons;
  LeftOut no_labels;
  std::map<std::string, std::size_t> looked;
  for (const std::string& file : files_below(folder, {})) {
    if (context.accounted.count(file) > 0) continue;
    const std::string extension = extension_of(file);
    if (extension == ".txt" && is_no_label_file(file) && !is_reserved_label_name(file_stem(file))) {
      count(no_labels, file);
      continue;
    }
    if (!may_hold_labels(extension) || goes_with_labels(file)) continue;
    if (extension == ".zip" && is_read_archive(file, context)) continue;
    std::string reason = packed(extension);
    if (reason.empty() && !is_regular_file(file)) continue;  // a link to nothing
    if (!reason.empty()) {
      if (extension == ".zip" && ends_with(lower_case(folder), ".zip")) continue;  // which was said
    } else if (++looked[extension] > max_looked) {
      if (extension == ".txt") continue;
      reason = "was not looked into";
    } else {
      if (read_extensions.count(extension) > 0 && extension != ".txt") {
        if (const std::string wrong = broken(file); !wrong.empty()) {
          throw DataError(printable(file) + ": " + wrong + "; expected labels as in the other files of " +
                          printable(folder) + ". Repair it, or move it elsewhere");
        }
      }
      if (context.options.format.empty()) {
        if (const CrowdFormat* other = detected_crowd_format(file);
            other != nullptr && other != &format && !is_own_consensus(file) && !is_own_table(file)) {
          throw DataError(folder + ": holds labels of several formats: " + format.name + ", " + other->name + " (" +
                          printable(file) +
                          "); name the one to read with --format, or the folder or file that holds one alone");
        }
      }
      reason = seems(file, extension);
    }
    if (reason.empty()) continue;
    count(reasons[reason], file);
  }
  const auto tell = [&](const LeftOut& row, const std::string& what) {
    if (row.count == 0) return;
    context.note(printable(row.first) + (row.count == 1 ? "" : " and " + std::to_string(row.count - 1) + " more") +
                 (row.count == 1 ? ": is" : ": are") + what);
  };
  tell(no_labels, " not taken for labels");
  for (const auto& [reason, row] : reasons) tell(row, " not read (" + reason + ")");
}

}  // namespace bdc
