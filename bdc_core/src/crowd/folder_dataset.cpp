#include "crowd/folder_dataset.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <set>
#include <system_error>
#include <unordered_map>
#include <unordered_set>

#include "base/csv.h"
#include "base/files.h"
#include "bdc/base/error.h"
#include "bdc/base/text.h"

namespace bdc {

void take_class_names(std::vector<std::string> names, const std::string& file, ReadContext& context) {
  if (!context.options.class_names.empty()) return;  // one list for all was given
  if (!context.class_names_known) {
    context.class_names = std::move(names);
    context.class_names_known = true;
    context.class_names_file = file;
    return;
  }
  std::size_t n = 0;
  while (n < names.size() && n < context.class_names.size() && names[n] == context.class_names[n]) ++n;
  const auto name = [&](const std::vector<std::string>& list) {
    return n < list.size() ? in_quotes(list[n]) : std::string("missing");
  };
  if (n == names.size() && n == context.class_names.size()) return;
  throw DataError(file + ": expected the classes of " + context.class_names_file + ", found others: class " +
                  std::to_string(n) + " is " + name(context.class_names) + " there and " + name(names) +
                  " here. Numbers of classes mean different things in these folders; make the lists equal, or give one "
                  "that holds for all with --class-names FILE");
}

void load_class_names(const std::string& folder, ReadContext& context) {
  if (!context.options.class_names.empty()) return;
  for (const char* name : {"classes.txt", "obj.names", "data.yaml", "data.yml"}) {
    const std::string path = join(folder, name);
    if (!is_regular_file(path)) continue;
    std::ifstream in = open_input(path);
    take_class_names(read_class_names(in, path), path, context);
    return;
  }
}

void load_sidecars(const std::string& folder, ReadContext& context, ClassKeys keys) {
  load_class_names(folder, context);
  const std::string sizes = join(folder, "sizes.csv");
  context.builder.begin_file(is_regular_file(sizes) ? sizes : folder);
  use_class_names(context, keys);
  context.sidecar.reset();
  if (!is_regular_file(sizes)) return;
  std::ifstream in = open_input(sizes);
  context.sidecar.emplace(in, sizes);
  for (const ImageTable::Row& row : context.sidecar->rows()) {
    const RecordId id = context.sidecar->id_of(row);
    context.builder.define_image(id, row.image, row.width, row.height, context.builder.place(row.line));
  }
}

void use_class_names(ReadContext& context, ClassKeys keys) {
  if (!context.class_names_known || context.class_names_used) return;
  context.class_names_used = true;
  const RecordPlace place = context.builder.place(0);
  for (std::size_t j = 0; j < context.class_names.size(); ++j) {
    const std::string& name = context.class_names[j];
    const RecordId id =
        keys == ClassKeys::index ? RecordId::integer(static_cast<std::int64_t>(j)) : RecordId::string(name);
    context.builder.define_class(id, name, place);
  }
}

std::int32_t label_of(ReadContext& context, std::string_view text, ClassKeys keys, const RecordPlace& place) {
  CrowdBuilder& builder = context.builder;
  if (keys == ClassKeys::name) {
    const RecordId id = RecordId::string(text);
    return context.class_names_known ? builder.label(id, "class", place) : builder.mention_class(id, text, place);
  }
  const RecordId id = RecordId::untyped(text);
  if (!context.class_names_known) return builder.mention_class(id, text, place);
  if (!id.is_integer) {
    const auto found = std::find(context.class_names.begin(), context.class_names.end(), text);
    if (found != context.class_names.end()) {
      return builder.label(RecordId::integer(found - context.class_names.begin()), "class", place);
    }
  }
  return builder.label(id, "class", place);
}

void number_classes(ReadContext& context) {
  std::int64_t next = 1;
  for (ClassRecord& record : context.builder.class_records()) record.id = RecordId::integer(next++).external();
}

std::pair<int, int> known_size(const ReadContext& context, std::string_view image) {
  if (image.empty()) return {0, 0};
  if (const ImageTable::Row* row = context.sizes ? context.sizes->find(image) : nullptr) {
    if (row->width > 0) return {static_cast<int>(row->width), static_cast<int>(row->height)};
  }
  if (context.image_folder) return context.image_folder->size_of(image).value_or(std::pair<int, int>{0, 0});
  return {0, 0};
}

std::int32_t image_of(ReadContext& context, std::string_view label_name, std::string_view file,
                      const RecordPlace& place) {
  RecordId id = RecordId::untyped(label_name);
  std::string found_file(file);
  for (const std::optional<ImageTable>* table : {&context.sidecar, &context.sizes}) {
    const ImageTable::Row* row = *table ? (*table)->find(label_name) : nullptr;
    if (row == nullptr) continue;
    id = (*table)->id_of(*row);
    if (found_file.empty()) found_file = row->image;
    break;
  }
  if (found_file.empty() && context.image_folder) found_file = context.image_folder->path_of(label_name);
  const std::int32_t image = context.builder.mention_image(id, found_file, place);
  if (!context.builder.has_size(image)) {
    const auto [width, height] = known_size(context, label_name);
    if (width > 0) context.builder.set_image_size(image, width, height, place);
  }
  return image;
}

bool is_reserved_label_name(const std::string& stem) {
  const std::string lower = lower_case(stem);
  for (const char* reserved : {"classes", "labels", "train", "val", "test"}) {
    if (lower == reserved) return true;
  }
  return false;
}

std::vector<std::string> label_names(const CrowdData& data) {
  const auto unique = [](const std::vector<std::string>& names) {
    std::unordered_set<std::string> seen;
    for (const std::string& name : names) {
      if (name.empty() || !seen.insert(name).second) return false;
    }
    return true;
  };
  // Some names mean something else beside label files; sizes.csv then ties the changed name to its image.
  const auto name = [](const std::string& text) {
    return to_file_name(is_reserved_label_name(text) ? text + " (image)" : text);
  };
  std::vector<std::string> by_stem, by_path, by_id;
  for (const ImageRecord& image : data.images) {
    by_stem.push_back(name(image.file.empty() ? image.id.text : file_stem(image.file)));
    by_path.push_back(name(image.file.empty() ? image.id.text : without_extension(image.file)));
    by_id.push_back(name(image.id.text));
  }
  for (const auto* names : {&by_stem, &by_path, &by_id}) {
    if (unique(*names)) return *names;
  }
  throw DataError(
      "two images would be written to the same file: neither their file names nor their ids differ as text");
}

void write_sizes_csv(const std::string& path, const CrowdData& data, const std::vector<std::string>& names) {
  // Ids and label files are named only where they do not follow from the images' file names.
  bool follows = true;
  for (std::size_t i = 0; i < data.images.size(); ++i) {
    const ImageRecord& image = data.images[i];
    const std::string stem = file_stem(image.file);
    follows = follows && !stem.empty() && image.id.text == stem && names[i] == to_file_name(stem);
  }
  std::string text = follows ? "image,width,height\n" : "image,width,height,id,label\n";
  for (std::size_t i = 0; i < data.images.size(); ++i) {
    const ImageRecord& image = data.images[i];
    text += csv_field(image.file) + "," + std::to_string(image.width) + "," + std::to_string(image.height);
    if (!follows) text += "," + csv_field(image.id.text) + "," + csv_field(from_file_name(names[i]));
    text += "\n";
  }
  write_text_file(path, text);
}

void write_class_names(const std::string& path, const CrowdData& data, WriteReport& report) {
  std::string text;
  std::size_t changed = 0;
  for (const ClassRecord& record : data.classes) {
    std::string name = record.name;
    for (char& c : name) {
      if (c == '\n' || c == '\r') c = ' ';
    }
    name = trimmed(name);
    if (name.empty()) name = "class " + record.id.text;
    if (name != record.name) ++changed;
    text += name + "\n";
  }
  add_loss(report, "class names with line breaks or outer blanks (written without)", changed);
  write_text_file(path, text);
}

void for_each_assignment(const CrowdData& data, std::size_t image,
                         const std::function<void(std::int32_t, const std::vector<std::size_t>&)>& use) {
  std::vector<std::size_t> rows;
  for (std::size_t n = data.annotation_begin[image]; n < data.annotation_begin[image + 1]; ++n) rows.push_back(n);
  std::stable_sort(rows.begin(), rows.end(), [&](std::size_t a, std::size_t b) {
    return data.annotations[a].annotator < data.annotations[b].annotator;
  });
  std::size_t at = 0;
  std::vector<std::size_t> own;
  for (std::size_t m = data.assignment_begin[image]; m < data.assignment_begin[image + 1]; ++m) {
    const std::int32_t annotator = data.assignments[m].annotator;  // ascending, as finalize sorts them
    own.clear();
    while (at < rows.size() && data.annotations[rows[at]].annotator == annotator) own.push_back(rows[at++]);
    use(annotator, own);
  }
}

void add_class_id_losses(const CrowdData& data, std::int64_t first_id, WriteReport& report) {
  std::size_t changed = 0;
  for (std::size_t j = 0; j < data.classes.size(); ++j) {
    const ExternalId& id = data.classes[j].id;
    if (!id.is_integer || id.text != std::to_string(first_id + static_cast<std::int64_t>(j))) ++changed;
  }
  add_loss(report, "class ids (classes are numbered anew)", changed);
}

void add_annotator_losses(const CrowdData& data, bool names_kept, bool unassigned_kept, WriteReport& report) {
  std::size_t named = 0;
  for (const AnnotatorRecord& annotator : data.annotators) named += annotator.name.empty() ? 0 : 1;
  if (!names_kept) add_loss(report, "names of annotators (their ids are kept)", named);
  if (unassigned_kept) return;
  std::vector<char> seen(data.annotators.size(), 0);
  for (const Assignment& a : data.assignments) seen[static_cast<std::size_t>(a.annotator)] = 1;
  add_loss(report, "annotators who saw no image", static_cast<std::size_t>(std::count(seen.begin(), seen.end(), 0)));
}

void add_type_losses(const CrowdData& data, bool images, bool classes, bool annotators, WriteReport& report) {
  const auto count = [](const auto& records) {
    std::size_t changed = 0;
    for (const auto& record : records) {
      if (!record.id.is_integer && RecordId::untyped(record.id.text).is_integer) ++changed;
    }
    return changed;
  };
  if (images) add_loss(report, "image ids that are strings of digits (they read back as integers)", count(data.images));
  if (classes)
    add_loss(report, "class ids that are strings of digits (they read back as integers)", count(data.classes));
  if (annotators) {
    add_loss(report, "annotator ids that are strings of digits (they read back as integers)", count(data.annotators));
  }
}

void add_truth_loss(const CrowdData& data, WriteReport& report) {
  add_loss(report, "true boxes", data.truth.size());
}

void add_guessed_assignment_loss(const CrowdData& data, WriteReport& report) {
  if (!data.assignments_known && !data.assignments.empty()) {
    add_loss(report, "assignments guessed from the boxes (they read back as stated)", data.assignments.size());
  }
}

void add_annotator_folder_losses(const CrowdData& data, std::int64_t first_class, bool image_ids, WriteReport& report) {
  add_guessed_assignment_loss(data, report);
  add_annotator_losses(data, false, false, report);
  add_class_id_losses(data, first_class, report);
  add_type_losses(data, image_ids, false, true, report);
  add_truth_loss(data, report);
}

void add_unseen_image_loss(const CrowdData& data, WriteReport& report) {
  std::size_t unseen = 0;
  for (std::size_t i = 0; i < data.images.size(); ++i) {
    unseen += data.assignment_begin[i] == data.assignment_begin[i + 1] ? 1 : 0;
  }
  add_loss(report, "images that nobody saw", unseen);
}

void require_distinct_class_names(const CrowdData& data, const char* format) {
  std::unordered_map<std::string, std::string> ids;
  for (const ClassRecord& record : data.classes) {
    const auto [entry, is_new] = ids.try_emplace(record.name, record.id.text);
    if (!is_new) {
      throw DataError("classes " + entry->second + " and " + record.id.text + " have the same name " +
                      in_quotes(record.name) + ", and the format " + in_quotes(format) +
                      " knows classes by their names; rename one");
    }
  }
}

namespace {

/// File systems hold names of at most 255 bytes.
void require_short_name(const std::string& path) {
  const std::string name = std::filesystem::path(path).filename().string();
  if (name.size() <= 255) return;
  throw DataError("the name " + in_quotes(shorten(name, 60)) + " is of " + std::to_string(name.size()) +
                  " bytes, and a file's or folder's has at most 255; give the image or annotator a shorter one, or "
                  "write a format of one file");
}

}  // namespace

void make_folder(const std::string& path) {
  require_short_name(path);
  std::error_code error;
  if (std::filesystem::create_directory(path, error)) return;
  if (error) throw std::system_error(error, path + ": cannot be created");
  throw DataError("two annotators have the id " + in_quotes(from_file_name(folder_name(path))) +
                  " (one as an integer, one as a string), and this format cannot tell them apart");
}

void write_text_file(const std::string& path, const std::string& text) {
  require_short_name(path);
  errno = 0;
  std::ofstream out(path, std::ios::binary);
  out.write(text.data(), static_cast<std::streamsize>(text.size()));
  out.close();
  if (!out) throw std::system_error(errno, std::generic_category(), path + ": cannot be written");
}

}  // namespace bdc
