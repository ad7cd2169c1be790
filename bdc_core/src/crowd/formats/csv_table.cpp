// A table of boxes, a row each, with a heading. Columns are known by common titles or named by options.columns
// (image=..., annotator=..., class=..., x1=..., ...). A row without numbers says that the image was seen and nothing
// was drawn there. OpenImages' tables are such tables whose numbers are shares of the image's size.
#include <algorithm>
#include <array>
#include <optional>

#include "base/csv.h"
#include "base/files.h"
#include "bdc/base/error.h"
#include "bdc/base/text.h"
#include "crowd/folder_dataset.h"
#include "crowd/format.h"
#include "crowd/table_heading.h"

namespace bdc {
namespace {

/// A number with a decimal comma would be read wrongly or not at all, depending on the file; it is refused.
std::string comma_advice(std::string_view field) {
  return field.find(',') == std::string_view::npos
             ? std::string()
             : "; decimal commas are not read: save the table with decimal points";
}

/// A row's width and height, of which it is not known yet whether they are the image's.
struct Extent {
  std::int32_t image;
  std::int64_t width, height;
  RecordPlace place;
};

/// The columns "width" and "height": the image's, unless they are what the corners of the boxes tell.
class Sizes {
 public:
  Sizes(const TableHeading& heading, const std::string& name, ReadContext& context)
      : heading_(heading),
        name_(name),
        context_(context),
        given_(heading.has("width") && heading.has("height")),
        doubtful_(heading.sizes_are_doubtful()) {}

  void add(const std::vector<std::string>& fields, std::int32_t image, const std::string& image_name,
           const RecordPlace& place) {
    if (given_) {
      const auto width = parse_integer(trimmed(fields[heading_.at("width")]));
      const auto height = parse_integer(trimmed(fields[heading_.at("height")]));
      if (width && height && doubtful_) {
        waiting_.push_back({image, *width, *height, place});
      } else if (width && height) {
        set({image, *width, *height, place});
      }
    }
    if (context_.builder.has_size(image) || doubtful_) return;  // what the options say is looked up for all at the end
    const auto [width, height] = known_size(context_, image_name);
    if (width > 0) context_.builder.set_image_size(image, width, height, place);
  }

  void compare(const std::vector<std::string>& fields, const std::array<double, 4>& corner) {
    if (!doubtful_) return;
    const auto width = parse_real(trimmed(fields[heading_.at("width")]));
    const auto height = parse_real(trimmed(fields[heading_.at("height")]));
    const auto is = [](std::optional<double> extent, double low, double high) {
      return extent && *extent >= high - low - 0.01 && *extent <= high - low + 1.01;  // the last pixel may count
    };
    ++boxes_;
    if (!is(width, corner[0], corner[2]) || !is(height, corner[1], corner[3])) return;
    ++equal_;
    inside_ = inside_ || corner[0] > 1 || corner[1] > 1;  // no box around a whole image
  }

  void finish() {
    if (inside_ && 10 * equal_ >= 9 * boxes_) {
      context_.note(name_ + ": the columns " + titles() + " are the boxes', as their corners tell, not the images'");
      return;
    }
    for (const Extent& extent : waiting_) set(extent);
  }

 private:
  [[nodiscard]] std::string titles() const {
    return in_quotes(heading_.title("width")) + " and " + in_quotes(heading_.title("height"));
  }

  void set(const Extent& extent) {
    CrowdBuilder& builder = context_.builder;
    const auto [width, height] = builder.size(extent.image);
    if (width == 0 || (width == extent.width && height == extent.height)) {
      builder.set_image_size(extent.image, extent.width, extent.height, extent.place);
      return;
    }
    builder.report(ProblemKind::conflicting_records, extent.place,
                   "the image is " + std::to_string(extent.width) + " x " + std::to_string(extent.height) +
                       " here and " + std::to_string(width) + " x " + std::to_string(height) +
                       " before, by the columns " + titles() +
                       "; if these are the boxes', name others with --columns width=TITLE,height=TITLE or take them "
                       "out");
  }

  const TableHeading& heading_;
  std::string name_;
  ReadContext& context_;
  bool given_, doubtful_;
  std::vector<Extent> waiting_;
  std::size_t boxes_ = 0, equal_ = 0;
  bool inside_ = false;
};

const char* name_of(char separator) {
  return separator == ';' ? "semicolons" : separator == '|' ? "bars" : "tabs";
}

void parse_csv(std::istream& in, const std::string& name, ReadContext& context) {
  CrowdBuilder& builder = context.builder;
  builder.begin_file(name);
  use_class_names(context, ClassKeys::name);
  CsvReader csv(in, name);
  if (const char separator = csv.detect_separator(); separator != ',') {
    context.note(name + ": the fields are separated by " + name_of(separator));
  }
  if (!next_heading(csv, context.options.columns)) {
    csv.fail("expected a heading with the columns' titles, found an empty file");
  }
  const TableHeading heading(csv, context.options.columns);
  heading.require_complete();
  if (const std::string person = heading.person_column(); !person.empty()) {
    context.note(name + ": the column " + in_quotes(person) +
                 " may say who drew; it is not used. If it does, add --columns annotator=" + printable(person));
  }
  const std::size_t columns = csv.fields().size();
  const auto& sides = heading.sides();
  Sizes sizes(heading, name, context);
  context.shares_advice = "say which with --columns unit=relative or --columns unit=pixels";
  if (heading.unit_given() && !heading.relative()) context.unit_said = true;
  std::int32_t own = -1;
  while (csv.next_row()) {
    const RecordPlace place = builder.place(csv.line());
    const std::vector<std::string>& fields = csv.fields();
    if (std::all_of(fields.begin(), fields.end(), [](const auto& field) { return trimmed(field).empty(); })) continue;
    if (fields.size() != columns) {
      builder.report(
          ProblemKind::bad_record, place,
          "expected " + std::to_string(columns) + " fields as in the heading, found " + std::to_string(fields.size()));
      continue;
    }
    std::string image_name(trimmed(fields[heading.at("image")]));
    std::replace(image_name.begin(), image_name.end(), '\\', '/');
    if (image_name.empty()) {
      builder.report(ProblemKind::bad_record, place, "expected an image, found nothing");
      continue;
    }
    std::int32_t annotator = own;
    if (heading.has("annotator")) {
      const std::string_view who = trimmed(fields[heading.at("annotator")]);
      if (who.empty()) {
        builder.report(ProblemKind::bad_record, place, "expected an annotator, found nothing");
        continue;
      }
      annotator = builder.mention_annotator(RecordId::untyped(who), "", place);
    } else if (own < 0) {
      annotator = own = builder.mention_annotator(RecordId::untyped(context.source_annotator()), "", place);
    }
    const std::int32_t image = builder.mention_image(RecordId::untyped(image_name), image_name, place);
    sizes.add(fields, image, image_name, place);
    builder.add_assignment(image, annotator, place);
    std::array<double, 4> number{};
    std::size_t blank = 0;
    bool good = true;
    for (std::size_t i = 0; i < 4; ++i) {
      const std::string_view field = trimmed(fields[heading.at(sides[i])]);
      const auto value = parse_real(field);
      blank += field.empty() ? 1 : 0;
      if (!field.empty() && !value) {
        builder.report(
            ProblemKind::bad_record, place,
            std::string("expected a number as ") + sides[i] + ", found " + in_quotes(field) + comma_advice(field));
        good = false;
        break;
      }
      number[i] = value.value_or(0);
    }
    if (!good || blank == 4) continue;
    const std::string_view label = trimmed(fields[heading.at("class")]);
    if (blank > 0 || label.empty()) {
      builder.report(ProblemKind::bad_record, place,
                     blank > 0 ? "expected 4 numbers or none, found some missing" : "expected a class, found nothing");
      continue;
    }
    heading.make_corners(number);
    sizes.compare(fields, number);
    if (heading.has("score")) context.saw_score(parse_real(trimmed(fields[heading.at("score")])).value_or(1));
    if (heading.relative()) {
      const auto [width, height] = builder.size(image);
      if (width == 0) {
        builder.report(
            ProblemKind::bad_record, place,
            "the size of image " + in_quotes(image_name) +
                " is unknown, and the numbers are shares of it; expected --sizes FILE or --image-folder DIR");
        continue;
      }
      number = {number[0] * width, number[1] * height, number[2] * width, number[3] * height};
    }
    builder.add_box(image, label_of(context, label, ClassKeys::name, place), annotator,
                    {number[0], number[1], number[2], number[3]}, place);
  }
  sizes.finish();
}

void read_csv(const std::string& path, ReadContext& context) {
  read_one_file(path, context, parse_csv);
}

bool looks_like_csv(const std::string& path) {
  const std::string name = lower_case(path);
  if (is_folder(path) || (!ends_with(name, ".csv") && !ends_with(name, ".tsv"))) return false;
  try {
    std::ifstream in = open_input(path);
    CsvReader csv(in, path);
    csv.detect_separator();
    return next_heading(csv, "") && TableHeading(csv, "").is_complete();
  } catch (const DataError&) {
    return false;
  }
}

}  // namespace

CrowdFormat csv_table_format() {
  CrowdFormat row = {"csv",          "a table of boxes with a heading; columns by common titles or --columns",
                     looks_like_csv, parse_csv,
                     read_csv,       number_classes,
                     nullptr,        true};
  row.takes.columns = row.takes.class_names = true;
  return row;
}

}  // namespace bdc
