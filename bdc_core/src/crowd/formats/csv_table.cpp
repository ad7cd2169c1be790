// A table of boxes, a row each, with a heading. Columns are known by common titles or named by options.columns
// (image=..., annotator=..., class=..., x1=..., ...). A row without numbers says that the image was seen and nothing
// was drawn there. OpenImages' tables are such tables whose numbers are shares of the image's size.
#include <algorithm>
#include <array>
#include <initializer_list>
#include <map>
#include <utility>

#include "base/csv.h"
#include "base/files.h"
#include "bdc/base/error.h"
#include "bdc/base/text.h"
#include "crowd/coco_record.h"
#include "crowd/folder_dataset.h"
#include "crowd/format.h"

namespace bdc {
namespace {

constexpr std::size_t absent = std::string::npos;

struct Role {
  const char* name;
  std::initializer_list<const char*> titles;
};

const Role roles[] = {
    {"image", {"image", "filename", "file_name", "image_id", "imageid", "image_path", "image_name", "path", "file"}},
    {"annotator", {}},  // by resembles_annotator_id
    {"class", {"class", "label", "class_name", "category", "labelname", "category_name", "name"}},
    {"x1", {"x1", "xmin", "x_min", "left"}},
    {"y1", {"y1", "ymin", "y_min", "top"}},
    {"x2", {"x2", "xmax", "x_max", "right"}},
    {"y2", {"y2", "ymax", "y_max", "bottom"}},
    {"x", {"x", "bbox_x"}},
    {"y", {"y", "bbox_y"}},
    {"w", {"w", "bbox_width", "box_width"}},
    {"h", {"h", "bbox_height", "box_height"}},
    {"width", {"width", "image_width"}},
    {"height", {"height", "image_height"}},
};

/// A title on one line: spreadsheets break long ones.
std::string title_of(std::string_view field) {
  std::string out;
  for (const char c : trimmed(field)) {
    const bool is_blank = c == '\n' || c == '\r' || c == '\t' || c == ' ';
    if (!is_blank) {
      out += c;
    } else if (out.back() != ' ') {
      out += ' ';
    }
  }
  return out;
}

/// A number with a decimal comma would be read wrongly or not at all, depending on the file; it is refused.
std::string comma_advice(std::string_view field) {
  return field.find(',') == std::string_view::npos
             ? std::string()
             : "; decimal commas are not read: save the table with decimal points";
}

/// "X Min" and "x-min" are x_min.
std::string title_key(std::string_view field) {
  std::string out = lower_case(title_of(field));
  for (char& c : out) {
    if (c == ' ' || c == '-') c = '_';
  }
  return out;
}

class Heading {
 public:
  /// Throws DataError when a column that is named is not there.
  Heading(const CsvReader& csv, const std::string& columns) : csv_(csv) {
    read_options(columns);
    for (std::size_t i = 0; i < csv.fields().size(); ++i) {
      const std::string title = title_key(csv.fields()[i]);
      for (const Role& role : roles) {
        const bool known = std::find_if(role.titles.begin(), role.titles.end(),
                                        [&](const char* t) { return title == t; }) != role.titles.end() ||
                           (std::string_view(role.name) == "annotator" && resembles_annotator_id(title));
        if (!known) continue;
        if (given_.count(role.name) > 0) continue;
        const auto [at, is_new] = column_.try_emplace(role.name, i);
        if (!is_new) repeated_[role.name] = title;
      }
    }
    tell_widths_apart();
    relative_ = relative_ || (!unit_given_ && has_title("imageid") && has_title("labelname") && has_title("xmin"));
    by_corners_ = has("x1") && has("y1") && has("x2") && has("y2");
  }

  [[nodiscard]] bool is_complete() const {
    return has("image") && has("class") && (by_corners_ || (has("x") && has("y") && has("w") && has("h")));
  }

  void require_complete() const {
    for (const auto& [role, title] : repeated_) {
      csv_.fail("two columns may be the " + role + " (" + in_quotes(title_of(csv_.fields()[column_.at(role)])) +
                " and " + in_quotes(title) + "); say which with --columns " + role + "=TITLE");
    }
    if (is_complete()) return;
    std::vector<std::string> titles;
    for (const std::string& field : csv_.fields()) titles.push_back(title_of(field));
    csv_.fail("expected columns for image, class and x1,y1,x2,y2 (or x,y,w,h), found the heading " +
              in_quotes(join(titles)) + "; name them with --columns image=TITLE,class=TITLE,x1=TITLE,...");
  }

  [[nodiscard]] bool has(const char* role) const { return column_.count(role) > 0; }
  [[nodiscard]] std::size_t at(const char* role) const { return column_.at(role); }
  /// A column that is not used and may say who drew; empty when there is none, or annotators have a column.
  [[nodiscard]] std::string person_column() const {
    if (has("annotator")) return {};
    for (const std::string& field : csv_.fields()) {
      if (may_name_person(title_of(field))) return title_of(field);
    }
    return {};
  }
  [[nodiscard]] bool by_corners() const { return by_corners_; }
  [[nodiscard]] bool relative() const { return relative_; }
  [[nodiscard]] bool unit_given() const { return unit_given_ || relative_; }

 private:
  /// Beside x and y, "width" and "height" are the box's.
  void tell_widths_apart() {
    if (!has("x") || !has("y") || has("x1") || has("y1")) return;
    for (const auto& [box, image] : {std::pair{"w", "width"}, std::pair{"h", "height"}}) {
      const std::size_t own = find_title(image);
      if (has(box) || own == absent || given_.count(image) > 0) continue;
      column_[box] = own;
      column_.erase(image);
      repeated_.erase(image);
      const std::size_t other = find_key(std::string("image_") + image);
      if (other != absent) column_[image] = other;
    }
  }

  [[nodiscard]] std::size_t find_key(const std::string& key) const {
    for (std::size_t i = 0; i < csv_.fields().size(); ++i) {
      if (title_key(csv_.fields()[i]) == key) return i;
    }
    return absent;
  }

  [[nodiscard]] bool has_title(const char* wanted) const { return find_title(wanted) != absent; }

  [[nodiscard]] std::size_t find_title(const std::string& wanted) const {
    for (std::size_t i = 0; i < csv_.fields().size(); ++i) {
      if (lower_case(title_of(csv_.fields()[i])) == lower_case(wanted)) return i;
    }
    return absent;
  }

  void read_options(const std::string& columns) {
    std::string_view rest = columns;
    while (!rest.empty()) {
      const std::string_view item = rest.substr(0, rest.find(','));
      rest.remove_prefix(std::min(item.size() + 1, rest.size()));
      const std::size_t equals = item.find('=');
      const std::string role(trimmed(item.substr(0, equals)));
      const std::string title(equals == std::string_view::npos ? "" : trimmed(item.substr(equals + 1)));
      const bool known = role == "unit" || std::find_if(std::begin(roles), std::end(roles), [&](const Role& r) {
                                             return role == r.name;
                                           }) != std::end(roles);
      if (!known || title.empty()) {
        throw DataError(
            "--columns: expected image, annotator, class, x1, y1, x2, y2, x, y, w, h, width, height or unit, "
            "each with =TITLE, found " +
            in_quotes(item));
      }
      if (role == "unit") {
        if (title != "pixels" && title != "relative") {
          throw DataError("--columns unit: expected pixels or relative, found " + in_quotes(title));
        }
        unit_given_ = true;
        relative_ = title == "relative";
        continue;
      }
      const std::size_t found = find_title(title);
      if (found == absent) csv_.fail("expected the column " + in_quotes(title) + " of --columns, found none");
      column_[role] = found;
      given_[role] = title;
    }
  }

  const CsvReader& csv_;
  std::map<std::string, std::size_t> column_;
  std::map<std::string, std::string> given_, repeated_;
  bool by_corners_ = false, relative_ = false, unit_given_ = false;
};

void parse_csv(std::istream& in, const std::string& name, ReadContext& context) {
  CrowdBuilder& builder = context.builder;
  builder.begin_file(name);
  use_class_names(context, ClassKeys::name);
  CsvReader csv(in, name);
  if (const char separator = csv.detect_separator(); separator != ',') {
    context.note(name + ": the fields are separated by " + (separator == ';' ? "semicolons" : "tabs"));
  }
  if (!csv.next_row()) csv.fail("expected a heading with the columns' titles, found an empty file");
  const Heading heading(csv, context.options.columns);
  heading.require_complete();
  context.relative_option = true;
  context.numbers_are_pixels = heading.unit_given() || heading.relative();
  if (const std::string person = heading.person_column(); !person.empty()) {
    context.note(name + ": the column " + in_quotes(person) +
                 " may say who drew; it is not used. If it does, add --columns annotator=" + printable(person));
  }
  const std::size_t columns = csv.fields().size();
  static constexpr const char* corner_roles[4] = {"x1", "y1", "x2", "y2"};
  static constexpr const char* extent_roles[4] = {"x", "y", "w", "h"};
  const auto& sides = heading.by_corners() ? corner_roles : extent_roles;
  std::int32_t own = -1;
  std::size_t boxes = 0, within_one = 0;
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
    if (heading.has("width") && heading.has("height")) {
      const auto width = parse_integer(trimmed(fields[heading.at("width")]));
      const auto height = parse_integer(trimmed(fields[heading.at("height")]));
      if (width && height) builder.set_image_size(image, *width, *height, place);
    }
    if (!builder.has_size(image)) {
      const auto [width, height] = known_size(context, image_name);
      if (width > 0) builder.set_image_size(image, width, height, place);
    }
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
    if (!heading.by_corners()) {
      number[2] += number[0];
      number[3] += number[1];
    }
    ++boxes;
    within_one += *std::max_element(number.begin(), number.end()) <= 1 ? 1 : 0;
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
  if (boxes > 0 && within_one == boxes && !heading.unit_given()) {
    throw DataError(name +
                    ": all numbers are at most 1, so they may be shares of the image's size or pixels; say which with "
                    "--columns unit=relative or --columns unit=pixels");
  }
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
    return csv.next_row() && Heading(csv, "").is_complete();
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
