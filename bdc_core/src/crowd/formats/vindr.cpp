// VinDr-CXR CSV: image_id,class_name,class_id,rad_id,x_min,y_min,x_max,y_max, columns in any order, class_id optional.
// A "No finding" row is an assignment without a box. Image sizes come from a second CSV (image_id,dim0,dim1 as
// published, or image,width,height): <name>_sizes.csv beside the file, or options.sizes_csv.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>

#include "base/csv.h"
#include "base/files.h"
#include "bdc/base/atomic_file.h"
#include "bdc/base/error.h"
#include "bdc/base/json_stream.h"
#include "bdc/base/text.h"
#include "crowd/folder_dataset.h"
#include "crowd/format.h"

namespace bdc {
namespace {

constexpr std::size_t absent = std::string::npos;

struct Columns {
  std::size_t image = absent, class_name = absent, class_id = absent, annotator = absent;
  std::array<std::size_t, 4> corner{absent, absent, absent, absent};
};

Columns columns_of(const CsvReader& csv) {
  Columns columns;
  const auto find = [&](const char* title) {
    for (std::size_t i = 0; i < csv.fields().size(); ++i) {
      if (lower_case(trimmed(csv.fields()[i])) == title) return i;
    }
    return absent;
  };
  const auto need = [&](const char* title) {
    const std::size_t i = find(title);
    if (i == absent) csv.fail(std::string("expected the column ") + in_quotes(title) + " in the heading, found none");
    return i;
  };
  columns.image = need("image_id");
  columns.class_name = need("class_name");
  columns.annotator = need("rad_id");
  columns.corner = {need("x_min"), need("y_min"), need("x_max"), need("y_max")};
  columns.class_id = find("class_id");
  return columns;
}

bool is_no_finding(const std::string& name) {
  return lower_case(name) == "no finding";
}

void parse_rows(CsvReader& csv, ReadContext& context) {
  CrowdBuilder& builder = context.builder;
  if (!csv.next_row())
    csv.fail("expected a heading with image_id, class_name, rad_id, x_min, ..., found an empty file");
  const Columns columns = columns_of(csv);
  const std::size_t width = csv.fields().size();
  builder.assignments_are_known();
  while (csv.next_row()) {
    const RecordPlace place = builder.place(csv.line());
    const std::vector<std::string>& fields = csv.fields();
    if (fields.size() != width) {
      builder.report(
          ProblemKind::bad_record, place,
          "expected " + std::to_string(width) + " fields as in the heading, found " + std::to_string(fields.size()));
      continue;
    }
    const char* missing = fields[columns.image].empty()        ? "image_id"
                          : fields[columns.annotator].empty()  ? "rad_id"
                          : fields[columns.class_name].empty() ? "class_name"
                                                               : nullptr;
    if (missing != nullptr) {
      builder.report(ProblemKind::bad_record, place, std::string("expected ") + missing + ", found nothing");
      continue;
    }
    const std::int32_t image = builder.mention_image(RecordId::untyped(fields[columns.image]), "", place);
    const std::int32_t annotator = builder.mention_annotator(RecordId::untyped(fields[columns.annotator]), "", place);
    builder.add_assignment(image, annotator, place);
    const std::string& name = fields[columns.class_name];
    if (is_no_finding(name)) {
      for (const std::size_t column : columns.corner) {
        // pandas writes a missing number as nothing or as nan.
        const auto value = parse_real(trimmed(fields[column]));
        if (value && !std::isnan(*value)) {
          builder.report(ProblemKind::bad_record, place,
                         "expected no box in a \"No finding\" row, found " + in_quotes(fields[column]));
          break;
        }
      }
      continue;
    }
    std::array<double, 4> corner{};
    bool good = true;
    for (std::size_t i = 0; i < 4 && good; ++i) {
      const std::string& field = fields[columns.corner[i]];
      const auto value = parse_real(trimmed(field));
      if (!value) {
        static constexpr const char* titles[4] = {"x_min", "y_min", "x_max", "y_max"};
        builder.report(ProblemKind::bad_record, place,
                       std::string("expected a number as ") + titles[i] + ", found " + in_quotes(field));
        good = false;
      }
      corner[i] = value.value_or(0);
    }
    if (!good) continue;
    RecordId id = RecordId::string(name);
    if (columns.class_id != absent) {
      if (fields[columns.class_id].empty()) {
        builder.report(ProblemKind::bad_record, place, "expected class_id, found nothing");
        continue;
      }
      id = RecordId::untyped(fields[columns.class_id]);
    }
    builder.add_box(image, builder.named_class(id, name, place), annotator,
                    {corner[0], corner[1], corner[2], corner[3]}, place);
  }
  (columns.class_id == absent ? context.classes_without_ids : context.classes_with_ids) = true;
}

/// Classes of files without class_id get the ids that other files give to their names, or new ones.
void finish_vindr(ReadContext& context) {
  if (!context.classes_without_ids) return;
  if (!context.classes_with_ids) {
    number_classes(context);
    return;
  }
  std::map<std::string, ExternalId> id_of;
  std::int64_t largest = 0;
  const auto has_id = [](const ClassRecord& record) { return record.id.is_integer || record.id.text != record.name; };
  for (const ClassRecord& record : context.builder.class_records()) {
    if (!has_id(record)) continue;
    id_of.try_emplace(record.name, record.id);
    if (record.id.is_integer) largest = std::max(largest, RecordId::from(record.id).value);
  }
  for (ClassRecord& record : context.builder.class_records()) {
    if (has_id(record)) continue;
    const auto known = id_of.find(record.name);
    if (known != id_of.end()) {
      record.id = known->second;
    } else if (largest < std::numeric_limits<std::int64_t>::max()) {
      record.id = id_of[record.name] = RecordId::integer(++largest).external();
    }
  }
}

void parse_vindr(std::istream& in, const std::string& name, ReadContext& context) {
  context.builder.begin_file(name);
  CsvReader csv(in, name);
  csv.detect_separator();
  parse_rows(csv, context);
}

std::string sizes_path(const std::string& path) {
  return without_extension(path) + "_sizes.csv";
}

void read_vindr(const std::string& path, ReadContext& context) {
  const std::string sizes = sizes_path(path);
  if (is_regular_file(sizes)) {
    guarded(context, [&] {
      std::ifstream in = open_input(sizes);
      const ImageTable table(in, sizes);
      context.builder.begin_file(sizes);
      for (const ImageTable::Row& row : table.rows()) {
        const RecordPlace place = context.builder.place(row.line);
        context.builder.define_image(RecordId::untyped(row.image), "", row.width, row.height, place);
      }
    });
  }
  read_one_file(path, context, parse_vindr);
}

bool looks_like_vindr(const std::string& path) {
  if (!is_regular_file(path)) return false;
  try {
    std::ifstream in = open_input(path);
    CsvReader csv(in, path);
    csv.detect_separator();
    if (!csv.next_row()) return false;
    static_cast<void>(columns_of(csv));
    return true;
  } catch (const DataError&) {
    return false;
  }
}

void write_vindr(const CrowdData& data, const std::string& path, WriteReport& report) {
  for (const ClassRecord& record : data.classes) {
    if (is_no_finding(record.name)) {
      throw DataError("the class name " + in_quotes(record.name) +
                      " means \"no box\" in VinDr-CXR files; rename the class");
    }
    if (record.name.empty()) throw DataError("class " + record.id.text + " has no name; VinDr-CXR files need one");
  }
  const auto same_text = [](const auto& records) {
    std::vector<std::string> ids;
    for (const auto& record : records) ids.push_back(record.id.text);
    std::sort(ids.begin(), ids.end());
    const auto twice = std::adjacent_find(ids.begin(), ids.end());
    return twice == ids.end() ? std::string() : *twice;
  };
  for (const std::string& id : {same_text(data.images), same_text(data.classes), same_text(data.annotators)}) {
    if (!id.empty())
      throw DataError("the id " + in_quotes(id) +
                      " is used as an integer and as a string; a CSV cannot tell these apart");
  }
  std::string no_finding_id = "14";
  for (std::int64_t next = 15; index_of(data.classes).find(RecordId::untyped(no_finding_id)) >= 0; ++next) {
    no_finding_id = std::to_string(next);
  }
  AtomicFile file(path), sizes(sizes_path(path));
  std::ostream& out = file.stream();
  out << "image_id,class_name,class_id,rad_id,x_min,y_min,x_max,y_max\n";
  sizes.stream() << "image_id,width,height\n";
  std::vector<char> used(data.classes.size(), 0);
  std::size_t files = 0;
  for (std::size_t i = 0; i < data.images.size(); ++i) {
    const ImageRecord& image = data.images[i];
    const std::string image_id = csv_field(image.id.text);
    sizes.stream() << image_id << ',' << image.width << ',' << image.height << '\n';
    files += image.file.empty() ? 0 : 1;
    for_each_assignment(data, i, [&](std::int32_t annotator, const std::vector<std::size_t>& rows) {
      const std::string rad = csv_field(data.annotators[static_cast<std::size_t>(annotator)].id.text);
      if (rows.empty()) out << image_id << ",No finding," << no_finding_id << ',' << rad << ",,,,\n";
      for (const std::size_t n : rows) {
        const Annotation& a = data.annotations[n];
        const ClassRecord& record = data.classes[static_cast<std::size_t>(a.label)];
        used[static_cast<std::size_t>(a.label)] = 1;
        std::string row = image_id + "," + csv_field(record.name) + "," + csv_field(record.id.text) + "," + rad;
        for (const double value : {a.box.x1, a.box.y1, a.box.x2, a.box.y2}) {
          row += ',';
          append_shortest_decimal(row, value);
        }
        out << row << '\n';
      }
    });
  }
  add_loss(report, "file names of images (their ids are kept)", files);
  add_loss(report, "classes without annotations", static_cast<std::size_t>(std::count(used.begin(), used.end(), 0)));
  add_guessed_assignment_loss(data, report);
  add_annotator_losses(data, false, false, report);
  add_type_losses(data, true, true, true, report);
  add_truth_loss(data, report);
  sizes.commit();
  file.commit();
}

}  // namespace

CrowdFormat vindr_format() {
  return {"vindr",
          "VinDr-CXR CSV: image_id,class_name,class_id,rad_id,x_min,y_min,x_max,y_max",
          looks_like_vindr,
          parse_vindr,
          read_vindr,
          finish_vindr,
          write_vindr,
          false,
          true};
}

}  // namespace bdc
