// One text file per image, named after it; each line is x1,y1,x2,y2,class,annotator in pixels (CSV quoting where an
// annotator's id needs it), or, in a file of true boxes, x1,y1,x2,y2,class. The class is a number from 0, or a name. An
// image without boxes is an empty file. Beside the files: sizes.csv and classes.txt. Who saw an image without drawing
// is not in this format.
#include <algorithm>
#include <array>
#include <optional>
#include <set>

#include "base/csv.h"
#include "base/files.h"
#include "bdc/base/atomic_file.h"
#include "bdc/base/error.h"
#include "bdc/base/json_stream.h"
#include "bdc/base/text.h"
#include "crowd/folder_dataset.h"
#include "crowd/format.h"
#include "crowd/label_tree.h"
#include "crowd/listed_pictures.h"

namespace bdc {
namespace {

/// image_file: of the picture, where that is known. annotators (may be null) receives who drew.
void parse_lines(std::istream& in, const std::string& name, const std::string& image_file,
                 std::set<std::string>* annotators, ReadContext& context) {
  CrowdBuilder& builder = context.builder;
  builder.begin_file(name);
  use_class_names(context, ClassKeys::index);
  const std::int32_t image = image_of(context, from_file_name(file_stem(name)), image_file, builder.place(0));
  if (builder.role() == BoxRole::truth) builder.truth_covers(image);
  CsvReader csv(in, name);
  std::size_t columns = 0;  // 5: true boxes, 6: the crowd's
  while (csv.next_row()) {
    const RecordPlace place = builder.place(csv.line());
    const std::vector<std::string>& fields = csv.fields();
    if (columns == 0 && (fields.size() == 5 || fields.size() == 6)) columns = fields.size();
    if (fields.size() != (columns == 0 ? 6 : columns)) {
      builder.report(
          ProblemKind::bad_record, place,
          columns == 5
              ? "expected 5 values x1,y1,x2,y2,class of a true box, as before, found " + std::to_string(fields.size())
              : "expected 6 values x1,y1,x2,y2,class,annotator, found " + std::to_string(fields.size()));
      continue;
    }
    std::array<double, 4> corner{};
    bool good = true;
    for (std::size_t i = 0; i < 4 && good; ++i) {
      const auto value = parse_real(trimmed(fields[i]));
      if (!value) {
        builder.report(ProblemKind::bad_record, place,
                       "expected a number as value " + std::to_string(i + 1) + ", found " + in_quotes(fields[i]));
        good = false;
      }
      corner[i] = value.value_or(0);
    }
    if (!good) continue;
    const std::string_view label = trimmed(fields[4]);
    // Blanks around an unquoted id are decoration; a quoted id has them on purpose, but csv_field keeps such ids
    // quoted.
    const std::string annotator = columns == 6 ? fields[5] : "-";
    if (label.empty() || annotator.empty()) {
      builder.report(ProblemKind::bad_record, place,
                     std::string("expected ") + (label.empty() ? "a class" : "an annotator") + ", found nothing");
      continue;
    }
    if (columns == 5) {
      builder.has_truth();
      builder.truth_covers(image);
      builder.add_truth(image, label_of(context, label, ClassKeys::index, place),
                        {corner[0], corner[1], corner[2], corner[3]}, false, -1, place);
      continue;
    }
    if (annotators != nullptr) annotators->insert(std::string(trimmed(annotator)));
    builder.add_box(image, label_of(context, label, ClassKeys::index, place),
                    builder.mention_annotator(RecordId::untyped(annotator), "", place),
                    {corner[0], corner[1], corner[2], corner[3]}, place);
  }
}

void parse_text(std::istream& in, const std::string& name, ReadContext& context) {
  parse_lines(in, name, "", nullptr, context);
}

/// The layout of BDC's authors: a yaml whose train, val and test are folders of such files, called like the pictures in
/// image_dir ("000005.jpg.txt").
void read_yaml(const std::string& path, ReadContext& context) {
  std::ifstream in = open_input(path);
  DataYaml yaml = read_data_yaml(in, path);
  if (yaml.has_names) take_class_names(std::move(yaml.names), path, context);
  if (yaml.splits.empty()) {
    throw DataError(path + ": expected \"train\", \"val\" or \"test\" with folders of labels, found none of them");
  }
  context.split_used = true;
  std::string images;
  if (!yaml.image_dir.empty()) {
    images = listed_place(yaml, path, yaml.image_dir, "image_dir", context);
    if (!context.image_folder) context.image_folder.emplace(images);
  }
  std::set<std::string> annotators;
  std::vector<std::string> names;
  bool found = false;
  for (const DataYaml::Split& split : yaml.splits) {
    names.push_back(split.name);
    if (!context.options.split.empty() && split.name != context.options.split) continue;
    found = true;
    for (const std::string& place : split.places) {
      const std::string folder = listed_place(yaml, path, place, split.name, context);
      const std::vector<std::string> files =
          is_folder(folder) ? files_in(folder, {".txt"}) : std::vector<std::string>();
      if (files.empty()) {
        throw DataError(path + ":" + std::to_string(split.line) + ": " + split.name +
                        ": expected a folder with text labels, found none in " + printable(folder));
      }
      for (const std::string& file : files) {
        if (is_no_label_file(file)) continue;
        guarded(context, [&] {
          std::ifstream labels = open_input(file);
          const std::string picture = file_stem(file);
          const bool there = !images.empty() && is_regular_file(join(images, picture));
          parse_lines(labels, file, there ? picture : "", &annotators, context);
        });
      }
    }
  }
  if (!found) {
    throw DataError(path + ": expected the split " + in_quotes(context.options.split) + ", found " + join(names));
  }
  if (yaml.num_annotators && annotators.size() > static_cast<std::size_t>(*yaml.num_annotators)) {
    throw DataError(path + ": expected n_annotator to be at least the number of annotators (" +
                    std::to_string(annotators.size()) + "), found " + std::to_string(*yaml.num_annotators));
  }
}

void read_text(const std::string& path, ReadContext& context) {
  if (is_yaml_name(path) && !is_folder(path)) {
    guarded(context, [&] { read_yaml(path, context); });
    return;
  }
  if (!is_folder(path)) {
    read_one_file(path, context, parse_text);
    return;
  }
  guarded(context, [&] { load_sidecars(path, context, ClassKeys::index); });
  for (const std::string& file : files_in(path, {".txt"})) {
    if (!is_no_label_file(file)) read_one_file(file, context, parse_text);
  }
}

/// A folder with a .txt file (or such a file) whose first row has six values with four numbers in front.
bool looks_like_text(const std::string& path) {
  if (is_crowds_yaml(path)) return true;
  std::vector<std::string> files;
  if (is_folder(path)) {
    files = files_in(path, {".txt"});
  } else if (ends_with(lower_case(path), ".txt")) {
    files = {path};
  }
  for (const std::string& file : files) {
    if (is_no_label_file(file)) continue;
    try {
      std::ifstream in = open_input(file);
      CsvReader csv(in, file);
      if (!csv.next_row()) continue;  // an image without boxes; look at the next
      const std::vector<std::string>& fields = csv.fields();
      if (fields.size() == 5 && trimmed(fields[4]).substr(0, 1) == "\"") return false;  // ICDAR's transcriptions
      return (fields.size() == 6 || fields.size() == 5) && parse_real(trimmed(fields[0])).has_value();
    } catch (const DataError&) {
      return false;
    }
  }
  return false;
}

void write_text(const CrowdData& data, const std::string& path, WriteReport& report) {
  const std::vector<std::string> names = label_names(data);
  AtomicFolder folder(path);
  write_sizes_csv(join(folder.path(), "sizes.csv"), data, names);
  write_class_names(join(folder.path(), "classes.txt"), data, report);
  for (std::size_t i = 0; i < data.images.size(); ++i) {
    std::string text;
    for (std::size_t n = data.annotation_begin[i]; n < data.annotation_begin[i + 1]; ++n) {
      const Annotation& a = data.annotations[n];
      for (const double value : {a.box.x1, a.box.y1, a.box.x2, a.box.y2}) {
        append_shortest_decimal(text, value);
        text += ',';
      }
      text += std::to_string(a.label) + "," +
              csv_field(data.annotators[static_cast<std::size_t>(a.annotator)].id.text) + "\n";
    }
    write_text_file(join(folder.path(), names[i] + ".txt"), text);
  }
  std::vector<char> drew(data.annotators.size(), 0);
  std::size_t pairs_with_box = 0;
  for (std::size_t i = 0; i < data.images.size(); ++i) {
    std::vector<std::int32_t> who;
    for (std::size_t n = data.annotation_begin[i]; n < data.annotation_begin[i + 1]; ++n) {
      who.push_back(data.annotations[n].annotator);
      drew[static_cast<std::size_t>(who.back())] = 1;
    }
    std::sort(who.begin(), who.end());
    pairs_with_box += static_cast<std::size_t>(std::unique(who.begin(), who.end()) - who.begin());
  }
  add_loss(report, "assignments without a box", data.assignments.size() - pairs_with_box);
  if (data.assignments_known) add_loss(report, "that assignments are stated, not guessed", pairs_with_box);
  add_loss(report, "annotators who drew no box", static_cast<std::size_t>(std::count(drew.begin(), drew.end(), 0)));
  add_annotator_losses(data, false, true, report);
  add_class_id_losses(data, 0, report);
  add_type_losses(data, true, false, true, report);
  add_truth_loss(data, report);
  folder.commit();
}

}  // namespace

CrowdFormat text_format() {
  CrowdFormat row = {"text",          "folder with one text file per image, lines x1,y1,x2,y2,class,annotator",
                     looks_like_text, parse_text,
                     read_text,       nullptr,
                     write_text};
  row.takes.class_names = true;
  return row;
}

}  // namespace bdc
