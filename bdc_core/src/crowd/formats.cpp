#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <unordered_map>

#include "base/files.h"
#include "base/zip_folder.h"
#include "bdc/base/error.h"
#include "bdc/base/json_stream.h"
#include "bdc/base/nearest.h"
#include "bdc/base/text.h"
#include "bdc/crowd/crowd_io.h"
#include "crowd/annotator_names.h"
#include "crowd/doubts.h"
#include "crowd/folder_dataset.h"
#include "crowd/foreign_formats.h"
#include "crowd/format.h"
#include "crowd/label_places.h"
#include "crowd/reading_checks.h"
#include "crowd/rotated_box.h"
#include "crowd/splits.h"
#include "crowd/unread_files.h"

// The table of formats. A new one is a file in formats/ that defines `CrowdFormat <name>_format()`, and one line here.
// Detection asks in this order.
#define BDC_FORMATS(X) \
  X(sim)               \
  X(labelme)           \
  X(supervisely)       \
  X(via)               \
  X(fiftyone)          \
  X(sagemaker)         \
  X(datumaro)          \
  X(crowd_json)        \
  X(coco)              \
  X(vindr)             \
  X(csv_table)         \
  X(cvat)              \
  X(voc)               \
  X(label_studio)      \
  X(yolo)              \
  X(text)

namespace bdc {

#define BDC_DECLARE(name) CrowdFormat name##_format();
BDC_FORMATS(BDC_DECLARE)
#undef BDC_DECLARE

const std::vector<CrowdFormat>& all_crowd_formats() {
#define BDC_ENTRY(name) name##_format(),
  static const std::vector<CrowdFormat> table{BDC_FORMATS(BDC_ENTRY)};
#undef BDC_ENTRY
  return table;
}

const CrowdFormat& crowd_format(const std::string& name) {
  const auto& table = all_crowd_formats();
  std::vector<std::string> known;
  for (const CrowdFormat& format : table) {
    if (name == format.name) return format;
    known.emplace_back(format.name);
  }
  throw DataError("no format is called '" + printable(name) + "'" + did_you_mean(name, known));
}

std::vector<CrowdFormatInfo> crowd_formats() {
  std::vector<CrowdFormatInfo> infos;
  for (const CrowdFormat& format : all_crowd_formats()) {
    infos.push_back({format.name, format.description, format.write != nullptr});
  }
  return infos;
}

std::string ReadContext::source_annotator() {
  if (!options.annotator.empty()) return options.annotator;
  if (!source_annotators_) {
    SourceNames found = names_of_sources(sources, options.annotator_from, source_splits);
    if (!found.note.empty()) note(found.note);
    if (found.by_folder) named_after_folders = found.annotators;
    source_annotators_ = std::move(found.annotators);
  }
  return (*source_annotators_)[source];
}

std::string ReadContext::dataset_annotator(const std::string& file) {
  std::string name = source_annotator();
  if (!options.annotator.empty() || name != from_file_name(file_stem(file))) return name;
  if (name != "labels" && name != "samples" && name != "default") return name;
  std::filesystem::path folder = std::filesystem::absolute(file).lexically_normal().parent_path();
  if (folder.filename() == "annotations") folder = folder.parent_path();
  return folder.has_filename() ? from_file_name(folder.filename().string()) : name;
}

bool ReadContext::takes_shape(const RecordPlace& place, const std::string& what) {
  if (!options.shapes_to_boxes) {
    leave_shape(place, what);
    return false;
  }
  ++shapes_taken;
  builder.report(ProblemKind::ignored_shape, place, what + " becomes the upright box around it");
  return true;
}

void ReadContext::leave_shape(const RecordPlace& place, const std::string& what) {
  ++shapes_left;
  builder.report(ProblemKind::ignored_shape, place, what + " is not a box and is left out");
}

Box ReadContext::upright(const Box& box, double x, double y, double degrees, const RecordPlace& place) {
  if (degrees == 0) return box;
  ++shapes_taken;
  builder.report(ProblemKind::ignored_shape, place, "a rotated box becomes the upright box around it");
  return upright_box_around(box, x, y, degrees);
}

void ReadContext::saw_splits(const std::string& place, const std::vector<std::string>& splits) {
  std::set<std::string> found(splits.begin(), splits.end());
  found.erase("");
  if (found.empty()) return;
  splits_seen.insert(found.begin(), found.end());
  split_used = true;
  if (!options.split.empty() && found.count(options.split) == 0) {
    throw DataError(place + ": expected the split " + in_quotes(options.split) + ", found " +
                    join({found.begin(), found.end()}));
  }
}

void ReadContext::note(const std::string& text) {
  if (options.notes == nullptr) return;
  if (std::find(options.notes->begin(), options.notes->end(), text) == options.notes->end())
    options.notes->push_back(text);
}

void guarded(ReadContext& context, const std::function<void()>& body) {
  if (context.builder.problems().strict()) {
    body();
    return;
  }
  try {
    body();
  } catch (const DataError& error) {
    context.builder.problems().report(ProblemKind::unreadable_file, [&] { return std::string(error.what()); });
  }
}

void read_one_file(const std::string& path, ReadContext& context,
                   void (*parse)(std::istream& in, const std::string& name, ReadContext& context)) {
  if (context.only_lists) return;
  context.accounted.insert(path);
  guarded(context, [&] {
    std::ifstream in = open_input(path);
    parse(in, path, context);
  });
}

void read_each_of(const std::string& path, ReadContext& context,
                  const std::function<std::vector<std::string>(const std::string& folder)>& files_of,
                  void (*parse)(std::istream& in, const std::string& name, ReadContext& context)) {
  const auto files_at = [&](const std::string& place) {
    return is_folder(place) ? files_of(place) : std::vector<std::string>{place};
  };
  if (!context.sources_are_files) {
    context.sources_are_files = true;
    context.sources.clear();
    context.source_splits.clear();
    context.source = 0;
    for (std::size_t n = 0; n < context.paths.size(); ++n) {
      const std::string& place = context.paths[n];
      std::vector<std::string> files = files_at(place);
      std::vector<std::string> splits(files.size());
      if (is_folder(place)) {
        splits = splits_below(place, files);
        context.saw_splits(place, splits);
      } else if (n < context.path_splits.size()) {
        splits.front() = context.path_splits[n];
      }
      for (std::size_t i = 0; i < files.size(); ++i) {
        context.accounted.insert(files[i]);
        context.sources.push_back(std::move(files[i]));
        context.source_splits.push_back(std::move(splits[i]));
      }
    }
  }
  for (const std::string& file : files_at(path)) {
    if (context.wants_split(context.source_splits[context.source])) read_one_file(file, context, parse);
    ++context.source;
  }
}

void read_each_file(const std::string& path, ReadContext& context, std::initializer_list<std::string_view> extensions,
                    void (*parse)(std::istream& in, const std::string& name, ReadContext& context)) {
  read_each_of(
      path, context, [&](const std::string& folder) { return files_below(folder, extensions); }, parse);
}

const CrowdFormat* detected_crowd_format(const std::string& path) {
  for (const CrowdFormat& format : all_crowd_formats()) {
    if (format.detect != nullptr && format.detect(path)) return &format;
  }
  return nullptr;
}

void add_loss(WriteReport& report, const char* what, std::size_t count) {
  if (count > 0) report.losses.push_back({what, count});
}

namespace {

/// The format that a file's first characters or extension suggest, although its detect said no; empty: none.
std::string suggested_format(const std::string& path, const std::string& start) {
  const std::size_t first = start.find_first_not_of(" \t\r\n", start.rfind("\xEF\xBB\xBF", 0) == 0 ? 3 : 0);
  const char c = first == std::string::npos ? ' ' : start[first];
  const std::string extension = lower_case(std::filesystem::path(path).extension().string());
  if (c == '[') return "label-studio";
  if (c == '{') {  // cut off or broken COCO; of other objects nothing is known
    const bool resembles = start.find("\"images\"") != std::string::npos ||
                           start.find("\"annotations\"") != std::string::npos ||
                           start.find("\"categories\"") != std::string::npos;
    return resembles ? "crowd" : "";
  }
  if (c == '<') return start.find("<annotations") != std::string::npos ? "cvat" : "voc";
  if (lower_case(start.substr(0, start.find('\n'))).find("image_id") != std::string::npos) return "vindr";
  if (extension == ".csv" || extension == ".tsv") return "csv";
  return extension == ".json" ? "crowd" : "";
}

/// Throws DataError with what makes a file that no format recognises unusable, where that can be told: it cannot be
/// opened, is empty or in UTF-16, or what the reader of the suggested format has to say.
void explain_unrecognised(const std::string& path, const ReadOptions& options, const std::string& known) {
  std::ifstream in = open_input(path);
  std::string start(4096, '\0');
  in.read(start.data(), static_cast<std::streamsize>(start.size()));
  start.resize(static_cast<std::size_t>(in.gcount()));
  if (in.bad()) throw DataError(path + ": cannot be read (input error)");
  if (start.empty()) throw DataError(path + ": expected labels, found an empty file");
  if (start.rfind("\xFF\xFE", 0) == 0 || start.rfind("\xFE\xFF", 0) == 0) {
    throw DataError(path + ": expected text in UTF-8, found the byte order mark of UTF-16; save the file as UTF-8");
  }
  if (const std::string foreign = foreign_format(path); !foreign.empty()) {
    throw DataError(path + ": looks like " + foreign + " (formats that are read: " + known + ")");
  }
  const std::string name = suggested_format(path, start);
  if (name.empty()) {
    std::ifstream whole = open_input(path);
    if (first_character(whole) != '{') return;
    JsonReader json(whole, path);
    json.skip();  // it may be broken
    json.finish();
    throw DataError(
        path + ": no labels are recognised in this JSON object; name the format with --format (known: " + known + ")");
  }
  try {
    ProblemLog strict(ProblemLog::Mode::strict);
    CrowdBuilder builder(options.role, strict, false);
    ReadContext context(options, builder);
    context.paths = context.sources = {path};
    crowd_format(name).read(path, context);
  } catch (const DataError& error) {
    throw DataError(std::string(error.what()) + "\n  read as " + name +
                    ", which the file resembles most; if it is another format, name it with --format (known: " + known +
                    ")");
  }
}

/// A folder in which one format was recognised must not hold labels of another: which are meant cannot be known.
void require_nothing_else(const std::string& path, const CrowdFormat& format) {
  if (!is_folder(path)) return;
  std::vector<std::string> found = {format.name};
  for (const CrowdFormat& other : all_crowd_formats()) {
    if (&other != &format && other.detect != nullptr && other.detect(path)) found.emplace_back(other.name);
  }
  std::size_t looked = 0;
  for (const std::string& file : files_below(path, {".json"})) {
    if (++looked > 20 || found.size() > 1) break;
    if (const CrowdFormat* other = detected_crowd_format(file);
        other != nullptr && other != &format && !is_own_consensus(file)) {
      found.push_back(std::string(other->name) + " (" + printable(file) + ")");
    }
  }
  if (found.size() == 1) return;
  throw DataError(path + ": holds labels of several formats: " + join(found) +
                  "; name the one to read with --format, or the folder or file that holds one alone");
}

/// What a folder that no format recognises holds, as far as its first files tell.
std::string hint_for_folder(const std::string& path, const ReadOptions& options, const std::string& known) {
  if (!is_folder(path)) return {};
  const std::vector<std::string> files = files_below(path, {});
  if (files.empty()) return "\n  it is empty";
  std::size_t looked = 0;
  for (const std::string& file : files) {
    if (is_picture_name(file)) continue;
    if (++looked > 20) break;
    if (ends_with(lower_case(file), ".zip") && ends_with(lower_case(path), ".zip")) {
      return "\n  it holds " + printable(file) + ", a zip file inside of a zip file: unpack the outer one";
    }
    if (const CrowdFormat* format = detected_crowd_format(file)) {
      return "\n  it holds " + printable(file) + ", which is of the format " + in_quotes(format->name) +
             "; name such files one by one";
    }
    if (const std::string foreign = foreign_format(file); !foreign.empty()) {
      return "\n  it holds " + printable(file) + ", which looks like " + foreign;
    }
  }
  for (const std::string& file : files_below(path, {".csv", ".tsv"})) {
    try {
      explain_unrecognised(file, options, known);
    } catch (const DataError& error) {
      return std::string("\n  ") + error.what();
    }
  }
  if (looked == 0)
    return "\n  it holds pictures alone, such as " + printable(files.front()) + "; expected their labels";
  return {};
}

/// Whether a file is called like a table.
bool is_table(const std::string& path) {
  const std::string name = lower_case(path);
  return ends_with(name, ".csv") || ends_with(name, ".tsv") || ends_with(name, ".txt");
}

/// known_format: what was detected of the path before; null when nothing was, or nobody looked.
const CrowdFormat& detect(const std::string& path, const ReadOptions& options, const CrowdFormat* known_format) {
  std::string known;
  for (const CrowdFormat& format : all_crowd_formats()) known += (known.empty() ? "" : ", ") + std::string(format.name);
  if (!is_folder(path) && !is_regular_file(path)) {
    throw DataError(path +
                    ": is a pipe or device, which can be read only once, so its format cannot be detected; name " +
                    "it with --format (known: " + known + ")");
  }
  if (!options.columns.empty()) {  // said by naming its columns
    const CrowdFormat* format = detected_crowd_format(path);
    return format != nullptr && (format->takes.columns || !is_table(path)) ? *format : crowd_format("csv");
  }
  if (const CrowdFormat* format = known_format != nullptr ? known_format : detected_crowd_format(path)) {
    require_nothing_else(path, *format);
    return *format;
  }
  if (!is_folder(path)) explain_unrecognised(path, options, known);
  throw DataError(path + ": the format of this " + (is_folder(path) ? "folder" : "file") +
                  " is not recognised; name it with --format (known: " + known + ")" +
                  hint_for_folder(path, options, known));
}

/// Paths that another format recognises and this one does not are refused, before anything is read.
void require_one_format(const std::vector<std::string>& paths, const CrowdFormat& format) {
  for (const std::string& path : paths) {
    if (format.detect == nullptr || format.detect(path)) continue;
    if (const CrowdFormat* other = detected_crowd_format(path)) {
      throw DataError(path + ": expected the format " + in_quotes(format.name) + " of " + paths.front() + ", found " +
                      in_quotes(other->name) +
                      "; all files must be of one format: turn them into one with `convert` first");
    }
  }
}

/// A context with what the options name: sizes, images, class names.
ReadContext make_context(const ReadOptions& options, CrowdBuilder& builder) {
  ReadContext context(options, builder);
  if (!options.sizes_csv.empty()) {
    std::ifstream in = open_input(options.sizes_csv);
    context.sizes.emplace(in, options.sizes_csv);
  }
  if (!options.image_folder.empty()) context.image_folder.emplace(options.image_folder);
  if (!options.class_names.empty()) {
    std::ifstream in = open_input(options.class_names);
    context.class_names = read_class_names(in, options.class_names);
    context.class_names_known = true;
  }
  return context;
}

/// Sizes for images that the files left without.
void fill_sizes(ReadContext& context) {
  if (!context.sizes && !context.image_folder) return;
  for (ImageRecord& image : context.builder.image_records()) {
    if (image.width > 0) continue;
    for (const std::string* name : {&image.file, &image.id.text}) {
      const std::pair<int, int> size = known_size(context, *name);
      if (size.first == 0) continue;
      image.width = size.first;
      image.height = size.second;
      break;
    }
  }
}

/// Says which annotators are named after folders; others may be named by their files.
void tell_folder_names(ReadContext& context, const CrowdData& data) {
  std::vector<std::string> used;
  for (const AnnotatorRecord& annotator : data.annotators) {
    const auto& names = context.named_after_folders;
    if (std::find(names.begin(), names.end(), annotator.id.text) != names.end()) used.push_back(annotator.id.text);
  }
  if (!used.empty()) context.note("annotators are named after folders: " + some_names(used));
}

/// Several annotators without a single image in common: their names may be why.
void tell_disjoint(ReadContext& context, const CrowdData& data) {
  if (data.annotators.size() < 2 || data.images.size() < 2) return;
  std::array<std::size_t, 2> shown{};  // images of two annotators
  std::array<std::int32_t, 2> who{-1, -1};
  for (std::size_t i = 0; i < data.images.size(); ++i) {
    const std::size_t from = data.assignment_begin[i], to = data.assignment_begin[i + 1];
    if (to - from > 1) return;
    if (to == from) continue;
    const std::int32_t annotator = data.assignments[from].annotator;
    const std::size_t n = who[0] < 0 || who[0] == annotator ? 0 : 1;
    if (who[n] >= 0) continue;
    who[n] = annotator;
    shown[n] = i;
  }
  if (who[1] < 0) return;
  std::vector<std::string> names;
  for (std::size_t n = 0; n < 2; ++n) {
    const ImageRecord& image = data.images[shown[n]];
    names.push_back(in_quotes(image.file.empty() ? image.id.text : image.file) + " (" +
                    printable(data.annotators[static_cast<std::size_t>(who[n])].id.text) + ")");
  }
  context.note("no image is in two annotators' labels; the images' names look like " + names[0] + " and " + names[1]);
}

/// Images of one file name whose label files have other names: several people's labels of a picture, in one folder?
void tell_repeated_files(ReadContext& context, const CrowdData& data) {
  const auto last_part = [](const std::string& id) { return id.substr(id.rfind('/') + 1); };
  std::unordered_map<std::string_view, std::size_t> first_of;
  std::size_t repeated = 0;
  std::string example;
  for (std::size_t i = 0; i < data.images.size(); ++i) {
    const ImageRecord& image = data.images[i];
    if (image.file.empty()) continue;
    const auto [at, is_new] = first_of.try_emplace(image.file, i);
    const std::string& other = data.images[at->second].id.text;
    if (is_new || last_part(other) == last_part(image.id.text)) continue;
    if (++repeated == 1) {
      example = in_quotes(other) + " and " + in_quotes(image.id.text) + " are both " + in_quotes(image.file);
    }
  }
  if (repeated == 0) return;
  context.note(counted(repeated, "image has the file name of another", "images have the file names of others") + " (" +
               example +
               "); each is taken for a picture of its own. Where these are labels of one picture by several people, "
               "keep each one's files in a folder of their own");
}

/// Classes that one person may have written in several ways.
void tell_alike_classes(ReadContext& context, const CrowdData& data) {
  std::map<std::string, std::vector<std::string>> spellings;
  for (const ClassRecord& record : data.classes) spellings[plain_spelling(record.name)].push_back(record.name);
  std::size_t alike = 0;
  std::string example;
  for (const auto& [plain, names] : spellings) {
    if (plain.empty() || names.size() < 2 || names[0] == names[1]) continue;
    if (++alike == 1) example = in_quotes(names[0]) + " and " + in_quotes(names[1]);
  }
  if (alike == 0) return;
  context.note(counted(alike, "class is", "classes are") +
               " written in several ways that differ in case or blanks alone, such as " + example +
               "; these are different classes");
}

/// Images of different annotators whose names differ in case or in the extension alone.
void tell_alike_images(ReadContext& context, const CrowdData& data) {
  if (data.annotators.size() < 2) return;
  const auto seen_by = [&](std::size_t i) {
    std::set<std::int32_t> out;
    for (std::size_t n = data.assignment_begin[i]; n < data.assignment_begin[i + 1]; ++n) {
      out.insert(data.assignments[n].annotator);
    }
    return out;
  };
  std::unordered_map<std::string, std::size_t> first_of;
  std::size_t alike = 0;
  std::string example;
  for (std::size_t i = 0; i < data.images.size(); ++i) {
    const std::string& file = data.images[i].file;
    if (file.empty()) continue;
    const auto [at, is_new] = first_of.try_emplace(lower_case(without_extension(file)), i);
    const std::string& other = data.images[at->second].file;
    if (is_new || other == file) continue;
    const std::set<std::int32_t> here = seen_by(i), there = seen_by(at->second);
    if (here.empty() || there.empty() ||
        std::any_of(here.begin(), here.end(), [&](std::int32_t k) { return there.count(k) > 0; })) {
      continue;
    }
    if (++alike == 1) example = in_quotes(other) + " and " + in_quotes(file);
  }
  if (alike == 0) return;
  context.note(counted(alike, "image of another annotator has a name", "images of other annotators have names") +
               " that " + (alike == 1 ? "differs" : "differ") + " in case or extension alone, such as " + example +
               "; they are taken for different pictures");
}

CrowdData finish_reading(const CrowdFormat& format, ReadContext& context, ReadReport* report) {
  fill_sizes(context);
  if (format.finish != nullptr) format.finish(context);
  if (report != nullptr) report->format = format.name;
  CrowdData data = context.builder.finish(report);
  if (context.versions_tied > 0) context.builder.tell_versions(context.versions_tied);
  for (const std::string& note : context.builder.notes()) context.note(note);
  tell_disjoint(context, data);
  tell_repeated_files(context, data);
  tell_alike_images(context, data);
  tell_alike_classes(context, data);
  tell_folder_names(context, data);
  tell_what_is_left_out(context, data);
  tell_doubtful_annotators(context, data);
  tell_doubtful_names(context, data);
  require_named_annotator(context, data);
  require_pixels(context, data);
  return data;
}

}  // namespace

std::string detected_format(const std::string& path) {
  const CrowdFormat* format = detected_crowd_format(path);
  return format == nullptr ? "" : format->name;
}

CrowdData read_crowd(const std::vector<std::string>& given, const ReadOptions& options, ReadReport* report) {
  if (given.empty()) throw DataError("expected at least one file or folder to read, found none");
  for (const std::string& path : given) require_exists(path);
  std::vector<std::string> paths, path_splits, left_out;
  const CrowdFormat* first_format = nullptr;
  for (const std::string& path : given) {
    LabelPlaces places = label_places(path, options);
    leave_out_own_consensus(path, given.size() == 1, places, options);
    if (paths.empty()) first_format = places.whole;
    paths.insert(paths.end(), places.paths.begin(), places.paths.end());
    path_splits.insert(path_splits.end(), places.splits.begin(), places.splits.end());
    left_out.insert(left_out.end(), places.left_out.begin(), places.left_out.end());
  }
  const CrowdFormat& format =
      options.format.empty() ? detect(paths.front(), options, first_format) : crowd_format(options.format);
  if (options.format.empty() && paths.size() > 1) require_one_format(paths, format);
  require_used_options(format, options, paths.front());
  ProblemLog strict(ProblemLog::Mode::strict);
  ProblemLog& problems = options.problems != nullptr ? *options.problems : strict;
  CrowdBuilder builder(options.role, problems, report != nullptr);
  ReadContext context = make_context(options, builder);
  context.paths = context.sources = paths;
  context.path_splits = context.source_splits = path_splits;
  context.accounted.insert(paths.begin(), paths.end());
  context.accounted.insert(left_out.begin(), left_out.end());
  context.saw_splits(given.front(), path_splits);
  if (paths.size() > 1) builder.files_have_own_ids(format.own_image_ids, format.own_class_ids);
  for (std::size_t n = 0; n < paths.size(); ++n) {
    context.path = n;
    if (!context.sources_are_files) context.source = n;
    if (context.sources_are_files || context.wants_split(path_splits[n])) format.read(paths[n], context);
  }
  std::vector<std::string> places = given;
  for (const std::string& path : paths) places.push_back(up_to_zip(path));  // of zip files in a folder
  std::set<std::string> told;
  for (const std::string& place : places) {
    if (is_folder(place) && told.insert(place).second) tell_unread_files(place, format, context);
  }
  if (!options.split.empty() && !context.split_used) {
    throw DataError(
        paths.front() +
        ": expected data that are divided into splits (a data.yaml, or folders train/, valid/, test/), to read " +
        in_quotes(options.split) + " of them; found labels of the format " + in_quotes(format.name) +
        " without such a division: name the files of the split instead");
  }
  return finish_reading(format, context, report);
}

CrowdData parse_crowd(std::istream& in, const std::string& name, const ReadOptions& options, ReadReport* report) {
  const CrowdFormat& format = crowd_format(options.format);
  ProblemLog strict(ProblemLog::Mode::strict);
  ProblemLog& problems = options.problems != nullptr ? *options.problems : strict;
  CrowdBuilder builder(options.role, problems, report != nullptr);
  ReadContext context = make_context(options, builder);
  context.paths = context.sources = {name};
  guarded(context, [&] { format.parse(in, name, context); });
  return finish_reading(format, context, report);
}

std::string Loss::text() const {
  std::string one = what;
  const std::string plural = " that are strings of digits (they read back as integers)";
  if (ends_with(one, plural)) {
    one.replace(one.size() - plural.size(), plural.size(), " that is a string of digits (it reads back as an integer)");
  }
  // The first word in the plural: "class ids ...", "true boxes ...".
  for (std::size_t from = 0; from < one.size() && one.compare(0, 5, "that ") != 0;) {
    const std::size_t end = std::min(one.find(' ', from), one.size());
    const std::string_view word = std::string_view(one).substr(from, end - from);
    if (ends_with(word, "ies")) {
      one.replace(end - 3, 3, "y");
      break;
    }
    if (ends_with(word, "s") && !ends_with(word, "ss")) {
      const std::size_t cut = ends_with(word, "xes") || ends_with(word, "sses") ? 2 : 1;
      one.erase(end - cut, cut);
      break;
    }
    from = end + 1;
  }
  return counted(count, one, what);
}

std::string WriteReport::text() const {
  std::string out;
  for (const Loss& loss : losses) out += "  " + loss.text() + "\n";
  return out;
}

WriteReport write_crowd(const CrowdData& data, const std::string& path, const std::string& format_name) {
  std::string name = format_name;
  if (name.empty()) {
    const std::string extension = lower_case(std::filesystem::path(path).extension().string());
    name = extension == ".json" ? "crowd" : extension == ".csv" ? "vindr" : "";
    if (name.empty()) {
      throw DataError(path + ": the extension does not tell the format to write; name it with --to");
    }
  }
  const CrowdFormat& format = crowd_format(name);
  if (format.write == nullptr) throw DataError("the format " + in_quotes(name) + " can be read but not written");
  WriteReport report;
  format.write(data, path, report);
  return report;
}

}  // namespace bdc
