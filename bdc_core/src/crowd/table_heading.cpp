#include "crowd/table_heading.h"

#include <algorithm>
#include <initializer_list>
#include <iterator>
#include <utility>

#include "bdc/base/error.h"
#include "bdc/base/text.h"
#include "crowd/coco_record.h"

namespace bdc {
namespace {

constexpr std::size_t absent = std::string::npos;

/// What a column may be, and how such columns are called. One of the other titles counts where no usual one stands.
struct Role {
  const char* name;
  std::initializer_list<const char*> titles, others;
};

const Role roles[] = {
    {"image",
     {"image", "filename", "file_name", "image_id", "imageid", "image_path", "image_name", "path", "file"},
     {"img", "img_name", "img_path", "image_file", "image_filename", "imagename", "imagepath", "file_path", "filepath",
      "picture", "photo"}},
    {"annotator", {}, {}},  // by resembles_annotator_id
    {"class",
     {"class", "label", "class_name", "category", "labelname", "category_name", "name"},
     {"classname", "label_name", "object_class", "object", "tag"}},
    {"x1", {"x1", "xmin", "x_min", "left"}, {"x0", "minx", "min_x", "bbox_x1", "bbox_xmin", "bbox_x_min", "bbox_left"}},
    {"y1", {"y1", "ymin", "y_min", "top"}, {"y0", "miny", "min_y", "bbox_y1", "bbox_ymin", "bbox_y_min", "bbox_top"}},
    {"x2", {"x2", "xmax", "x_max", "right"}, {"maxx", "max_x", "bbox_x2", "bbox_xmax", "bbox_x_max", "bbox_right"}},
    {"y2", {"y2", "ymax", "y_max", "bottom"}, {"maxy", "max_y", "bbox_y2", "bbox_ymax", "bbox_y_max", "bbox_bottom"}},
    {"x", {"x", "bbox_x"}, {}},
    {"y", {"y", "bbox_y"}, {}},
    {"cx", {}, {"cx", "x_center", "center_x", "xcenter", "centerx"}},
    {"cy", {}, {"cy", "y_center", "center_y", "ycenter", "centery"}},
    {"w", {"w", "bbox_width", "box_width"}, {"bbox_w", "box_w"}},
    {"h", {"h", "bbox_height", "box_height"}, {"bbox_h", "box_h"}},
    {"width", {"width", "image_width"}, {"img_width", "image_w", "img_w"}},
    {"height", {"height", "image_height"}, {"img_height", "image_h", "img_h"}},
    {"score", {}, {"score", "confidence", "conf", "probability"}},
};

constexpr std::array<const char*, 4> corners = {"x1", "y1", "x2", "y2"}, extents = {"x", "y", "w", "h"},
                                     centre = {"cx", "cy", "w", "h"};

bool is_among(const std::string& title, const std::initializer_list<const char*>& titles) {
  return std::any_of(titles.begin(), titles.end(), [&](const char* known) { return title == known; });
}

/// "X Min" and "x-min" are x_min.
std::string title_key(const std::string& title) {
  std::string out = lower_case(title);
  std::replace_if(
      out.begin(), out.end(), [](char c) { return c == ' ' || c == '-'; }, '_');
  return out;
}

}  // namespace

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

TableHeading::TableHeading(const CsvReader& csv, const std::string& columns) : file_(csv.name()), line_(csv.line()) {
  for (const std::string& field : csv.fields()) titles_.push_back(title_of(field));
  read_options(csv, columns);
  find_roles([](const Role& role, const std::string& title) {
    return is_among(title, role.titles) ||
           (std::string_view(role.name) == "annotator" && resembles_annotator_id(title));
  });
  const auto usual = column_;
  find_roles([&](const Role& role, const std::string& title) {
    return usual.count(role.name) == 0 && is_among(title, role.others);
  });
  begin_at_zero();
  tell_extents_apart();
  const bool open_images =
      find_key("imageid") != absent && find_key("labelname") != absent && find_key("xmin") != absent;
  relative_ = relative_ || (!unit_given_ && open_images);
  sides_ = has_all(corners)   ? Sides::corners
           : has_all(extents) ? Sides::extents
           : has_all(centre)  ? Sides::centre
                              : Sides::none;
}

template <class IsTitle>
void TableHeading::find_roles(const IsTitle& is_title) {
  for (std::size_t i = 0; i < titles_.size(); ++i) {
    const std::string key = title_key(titles_[i]);
    for (const Role& role : roles) {
      if (is_given(role.name) || !is_title(role, key)) continue;
      const bool is_new = column_.try_emplace(role.name, i).second;
      if (!is_new) repeated_[role.name] = key;
    }
  }
}

/// x0,y0,x1,y1: the second corner is (x1, y1).
void TableHeading::begin_at_zero() {
  for (const auto& [zero, one, two] : {std::array{"x0", "x1", "x2"}, std::array{"y0", "y1", "y2"}}) {
    const std::size_t first = find_key(zero), second = find_key(one);
    if (first == absent || second == absent || has(two) || is_given(one)) continue;
    column_[one] = first;
    column_[two] = second;
    repeated_.erase(one);
  }
}

/// Beside one corner or the centre, "width" and "height" are the box's.
void TableHeading::tell_extents_apart() {
  if (!has("x2") && !has("y2") && !has("x") && !has("y") && !is_given("x1") && !is_given("y1")) {
    if (has("x1") && has("y1") &&
        ((has("w") && has("h")) || (find_key("width") != absent && find_key("height") != absent))) {
      move("x1", "x");
      move("y1", "y");
    }
  }
  const bool by_extents = (has("x") && has("y") && !has("x1") && !has("y1")) || (has("cx") && has("cy") && !has("x2"));
  if (!by_extents) return;
  for (const auto& [box, image] : {std::pair{"w", "width"}, std::pair{"h", "height"}}) {
    const std::size_t own = find_key(image);
    if (has(box) || own == absent || is_given(image)) continue;
    column_[box] = own;
    column_.erase(image);
    repeated_.erase(image);
    const std::size_t other = find_key(std::string("image_") + image);
    if (other != absent) column_[image] = other;
  }
}

void TableHeading::move(const std::string& from, const std::string& to) {
  column_[to] = column_.at(from);
  column_.erase(from);
  if (const auto other = repeated_.find(from); other != repeated_.end()) {
    repeated_[to] = other->second;
    repeated_.erase(from);
  }
}

bool TableHeading::has_all(const std::array<const char*, 4>& wanted) const {
  return std::all_of(wanted.begin(), wanted.end(), [&](const char* role) { return has(role); });
}

bool TableHeading::sizes_are_doubtful() const {
  return by_corners() && has("width") && has("height") && !is_given("width") && !is_given("height") && !relative_ &&
         title_key(title("width")) == "width" && title_key(title("height")) == "height";
}

void TableHeading::require_complete() const {
  const auto fail = [&](const std::string& message) {
    throw DataError(file_ + ":" + std::to_string(line_) + ": " + message);
  };
  for (const auto& [role, other] : repeated_) {
    fail("two columns may be the " + role + " (" + in_quotes(titles_[column_.at(role)]) + " and " + in_quotes(other) +
         "); say which with --columns " + role + "=TITLE");
  }
  if (is_complete()) return;
  fail("expected columns for image, class and x1,y1,x2,y2 (or x,y,w,h), found the heading " + in_quotes(join(titles_)) +
       "; name them with --columns image=TITLE,class=TITLE,x1=TITLE,...");
}

std::string TableHeading::person_column() const {
  if (has("annotator")) return {};
  const auto found =
      std::find_if(titles_.begin(), titles_.end(), [](const auto& title) { return may_name_person(title); });
  return found == titles_.end() ? std::string() : *found;
}

const std::array<const char*, 4>& TableHeading::sides() const {
  return sides_ == Sides::corners ? corners : sides_ == Sides::extents ? extents : centre;
}

void TableHeading::make_corners(std::array<double, 4>& number) const {
  if (sides_ == Sides::corners) return;
  if (sides_ == Sides::centre) {
    number[0] -= number[2] / 2;
    number[1] -= number[3] / 2;
  }
  number[2] += number[0];
  number[3] += number[1];
}

std::size_t TableHeading::find_key(const std::string& key) const {
  const auto found =
      std::find_if(titles_.begin(), titles_.end(), [&](const std::string& title) { return title_key(title) == key; });
  return found == titles_.end() ? absent : static_cast<std::size_t>(found - titles_.begin());
}

void TableHeading::read_options(const CsvReader& csv, const std::string& columns) {
  std::string_view rest = columns;
  while (!rest.empty()) {
    const std::string_view item = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(item.size() + 1, rest.size()));
    const std::size_t equals = item.find('=');
    const std::string role(trimmed(item.substr(0, equals)));
    const std::string wanted(equals == std::string_view::npos ? "" : trimmed(item.substr(equals + 1)));
    const bool known = role == "unit" ||
                       std::any_of(std::begin(roles), std::end(roles), [&](const Role& r) { return role == r.name; });
    if (!known || wanted.empty()) {
      throw DataError(
          "--columns: expected image, annotator, class, x1, y1, x2, y2, x, y, w, h, cx, cy, width, height, score or "
          "unit, each with =TITLE, found " +
          in_quotes(item));
    }
    if (role == "unit") {
      if (wanted != "pixels" && wanted != "relative") {
        throw DataError("--columns unit: expected pixels or relative, found " + in_quotes(wanted));
      }
      unit_given_ = true;
      relative_ = wanted == "relative";
      continue;
    }
    const auto found = std::find_if(titles_.begin(), titles_.end(),
                                    [&](const std::string& title) { return lower_case(title) == lower_case(wanted); });
    if (found == titles_.end()) csv.fail("expected the column " + in_quotes(wanted) + " of --columns, found none");
    column_[role] = static_cast<std::size_t>(found - titles_.begin());
    given_[role] = wanted;
  }
}

bool next_heading(CsvReader& csv, const std::string& columns) {
  const auto is_remark = [&] {
    if (trimmed(csv.fields().front()).substr(0, 1) != "#") return false;
    try {
      return !TableHeading(csv, columns).is_complete();
    } catch (const DataError&) {
      return true;
    }
  };
  while (csv.next_row()) {
    if (!is_remark()) return true;
  }
  return false;
}

}  // namespace bdc
