// The VGG Image Annotator (VIA 1 and 2): a project, its "Export annotations" as JSON (an object with a member per
// image), or the same as a table. A file holds the boxes of one annotator, unless an attribute names another. VIA
// stores no class: one of the regions' attributes is it.
#include <algorithm>
#include <map>
#include <set>
#include <sstream>

#include "base/csv.h"
#include "base/files.h"
#include "bdc/base/error.h"
#include "bdc/base/json_stream.h"
#include "bdc/base/text.h"
#include "crowd/box_around.h"
#include "crowd/coco_record.h"
#include "crowd/folder_dataset.h"
#include "crowd/format.h"
#include "crowd/json_records.h"

namespace bdc {
namespace {

using Attributes = std::map<std::string, std::string>;

struct Region {
  std::string shape;
  std::optional<Box> box;  ///< of a rectangle, or around another shape
  Attributes attributes;
  RecordPlace place;
};

struct Picture {
  std::string file;
  Attributes attributes;
  std::vector<Region> regions;
  RecordPlace place;
};

/// A text, a number, or the ticked boxes of {"a": true, "b": false}: "a"; of several: all, with " + " between them.
std::string read_attribute(JsonReader& json) {
  switch (json.peek()) {
    case JsonReader::Type::string:
      return std::string(trimmed(json.string()));
    case JsonReader::Type::number:
      return shortest_decimal(json.number());
    case JsonReader::Type::object: {
      std::vector<std::string> ticked;
      json.begin_object();
      while (json.next_member()) {
        const std::string name(json.key());
        if (json.peek() == JsonReader::Type::boolean) {
          if (json.boolean()) ticked.push_back(name);
        } else {
          json.skip();
        }
      }
      return join(ticked, " + ");
    }
    default:
      json.skip();
      return {};
  }
}

Attributes read_attributes(JsonReader& json) {
  Attributes out;
  if (json.peek() != JsonReader::Type::object) return json.skip(), out;
  json.begin_object();
  while (json.next_member()) {
    const std::string name(json.key());
    std::string value = read_attribute(json);
    if (!value.empty()) out[name] = std::move(value);
  }
  return out;
}

/// {"name": "rect", "x": ..., "y": ..., "width": ..., "height": ...} and the other shapes.
void read_shape(JsonReader& json, Region& region) {
  std::map<std::string, double> number;
  std::vector<double> x, y;
  json.begin_object();
  while (json.next_member()) {
    const std::string key(json.key());
    if (key == "name") {
      region.shape = read_optional_string(json);
    } else if (key == "all_points_x") {
      read_numbers(json, x, 1000000);
    } else if (key == "all_points_y") {
      read_numbers(json, y, 1000000);
    } else if (json.peek() == JsonReader::Type::number) {
      number[key] = json.number_or_nan();
    } else {
      json.skip();
    }
  }
  if (region.shape.empty()) json.fail_value("expected the member \"name\" (rect, polygon, ...), found none");
  const auto all = [&](std::initializer_list<const char*> keys) {
    return std::all_of(keys.begin(), keys.end(), [&](const char* key) { return number.count(key) > 0; });
  };
  if (region.shape == "rect") {
    if (!all({"x", "y", "width", "height"})) {
      json.fail_value("expected the numbers x, y, width and height of a rect, found not all of them");
    }
    region.box = Box{number["x"], number["y"], number["x"] + number["width"], number["y"] + number["height"]};
  } else if (region.shape == "circle" && all({"cx", "cy", "r"})) {
    const double r = number["r"];
    region.box = Box{number["cx"] - r, number["cy"] - r, number["cx"] + r, number["cy"] + r};
  } else if (region.shape == "ellipse" && all({"cx", "cy", "rx", "ry"}) && number["theta"] == 0) {
    region.box = Box{number["cx"] - number["rx"], number["cy"] - number["ry"], number["cx"] + number["rx"],
                     number["cy"] + number["ry"]};
  } else if (region.shape == "polygon" || region.shape == "polyline") {
    BoxAround around;
    for (std::size_t n = 0; n < std::min(x.size(), y.size()); ++n) around.add(x[n], y[n]);
    if (x.size() == y.size()) region.box = around.box();
  }
}

class ViaReader {
 public:
  ViaReader(const std::string& name, ReadContext& context) : name_(name), context_(context), builder_(context.builder) {
    builder_.begin_file(name);
    read_columns();
  }

  void read_json(std::istream& in) {
    JsonReader json(in, name_);
    bool version_three = false;
    json.begin_object();
    while (json.next_member()) {
      const std::string_view key = json.key();
      if (key == "_via_img_metadata") {
        json.begin_object();
        while (json.next_member()) picture_of_json(json);
      } else if (key == "_via_attributes" && json.peek() == JsonReader::Type::object) {
        read_options_of_attributes(json);
      } else if (key.rfind("_via_", 0) == 0 || json.peek() != JsonReader::Type::object) {
        json.skip();
      } else if (key == "project" || key == "metadata" || key == "view") {
        version_three = true;
        json.skip();
      } else {
        picture_of_json(json);
      }
    }
    json.finish();
    if (pictures_.empty() && version_three) {
      throw DataError(name_ +
                      ": is a project of VIA 3, of which only VIA 2's form is read; in VIA 3 export as COCO instead");
    }
    use_all();
  }

  void read_table(std::istream& in) {
    CsvReader csv(in, name_);
    if (!csv.next_row()) csv.fail("expected a heading with the columns' titles, found an empty file");
    std::map<std::string, std::size_t> column;
    for (std::size_t i = 0; i < csv.fields().size(); ++i) {
      std::string title(trimmed(csv.fields()[i]));
      if (!title.empty() && title.front() == '#') title.erase(0, 1);
      column.try_emplace(title, i);
    }
    for (const char* title : {"filename", "region_shape_attributes", "region_attributes"}) {
      if (column.count(title) == 0) csv.fail(std::string("expected the column ") + title + " of VIA, found none");
    }
    const std::size_t columns = csv.fields().size();
    std::map<std::string, std::size_t> known;
    while (csv.next_row()) {
      const RecordPlace place = builder_.place(csv.line());
      if (csv.fields().size() != columns) {
        builder_.report(ProblemKind::bad_record, place,
                        "expected " + std::to_string(columns) + " fields as in the heading, found " +
                            std::to_string(csv.fields().size()));
        continue;
      }
      const auto field = [&](const char* title) { return csv.fields()[column.at(title)]; };
      const std::string file(trimmed(field("filename")));
      if (file.empty()) {
        builder_.report(ProblemKind::bad_record, place, "expected a filename, found nothing");
        continue;
      }
      const auto known_or_new = known.try_emplace(file, pictures_.size());
      const std::size_t at = known_or_new.first->second;
      if (known_or_new.second) pictures_.push_back({file, {}, {}, place});
      Region region;
      region.place = place;
      bool good = true;
      const auto parse = [&](const char* title, const auto& use) {
        if (column.count(title) == 0) return;
        try {
          std::istringstream text(field(title));
          JsonReader json(text, name_, csv.line());
          use(json);
          json.finish();
        } catch (const DataError& error) {
          good = false;
          builder_.problems().report(ProblemKind::bad_record, [&] { return std::string(error.what()); });
        }
      };
      const std::string shape = field("region_shape_attributes");
      parse("file_attributes", [&](JsonReader& json) { pictures_[at].attributes = read_attributes(json); });
      if (trimmed(shape).empty() || trimmed(shape) == "{}") continue;  // the picture has no regions
      parse("region_shape_attributes", [&](JsonReader& json) { read_shape(json, region); });
      parse("region_attributes", [&](JsonReader& json) { region.attributes = read_attributes(json); });
      if (good) pictures_[at].regions.push_back(std::move(region));
    }
    use_all();
  }

 private:
  void read_columns() {
    std::string_view rest = context_.options.columns;
    while (!rest.empty()) {
      const std::string_view item = rest.substr(0, rest.find(','));
      rest.remove_prefix(std::min(item.size() + 1, rest.size()));
      const std::size_t equals = item.find('=');
      if (trimmed(item.substr(0, equals)) != "class" || equals == std::string_view::npos) {
        throw DataError("--columns: of VIA's files expected class=ATTRIBUTE alone, found " + in_quotes(item));
      }
      class_key_ = trimmed(item.substr(equals + 1));
    }
  }

  void picture_of_json(JsonReader& json) {
    const std::size_t depth = json.depth();
    try {
      pictures_.push_back(read_picture(json));
    } catch (const JsonValueError& error) {
      if (builder_.problems().strict()) throw;
      builder_.problems().report(ProblemKind::bad_record, [&] { return std::string(error.what()); });
      json.recover(depth);
    }
  }

  Picture read_picture(JsonReader& json) {
    Picture picture;
    static_cast<void>(json.peek());
    picture.place = builder_.place(json.line());
    json.begin_object();
    while (json.next_member()) {
      const std::string_view key = json.key();
      if (key == "filename") {
        picture.file = read_optional_string(json);
      } else if (key == "file_attributes") {
        picture.attributes = read_attributes(json);
      } else if (key == "regions" && json.peek() == JsonReader::Type::object) {
        json.begin_object();  // VIA 1: {"0": {...}, "1": {...}}
        while (json.next_member()) picture.regions.push_back(read_region(json));
      } else if (key == "regions") {
        for_each_record(json, builder_.problems(), [&] { picture.regions.push_back(read_region(json)); });
      } else {
        json.skip();
      }
    }
    if (picture.file.empty()) json.fail_value("expected the member \"filename\" of a picture in VIA, found none");
    return picture;
  }

  Region read_region(JsonReader& json) {
    Region region;
    static_cast<void>(json.peek());
    region.place = builder_.place(json.line(), "regions", json.index());
    json.begin_object();
    while (json.next_member()) {
      const std::string_view key = json.key();
      if (key == "shape_attributes") {
        read_shape(json, region);
      } else if (key == "region_attributes") {
        region.attributes = read_attributes(json);
      } else {
        json.skip();
      }
    }
    if (region.shape.empty()) json.fail_value("expected the member \"shape_attributes\", found none");
    return region;
  }

  /// {"region": {"class": {"type": "dropdown", "options": {"cat": ...}}}, "file": {...}}: classes without boxes, too.
  void read_options_of_attributes(JsonReader& json) {
    json.begin_object();
    while (json.next_member()) {
      if (json.key() != "region" || json.peek() != JsonReader::Type::object) {
        json.skip();
        continue;
      }
      json.begin_object();
      while (json.next_member()) {
        const std::string attribute(json.key());
        if (json.peek() != JsonReader::Type::object) {
          json.skip();
          continue;
        }
        json.begin_object();
        while (json.next_member()) {
          if (json.key() != "options" || json.peek() != JsonReader::Type::object) {
            json.skip();
            continue;
          }
          json.begin_object();
          while (json.next_member()) {
            options_[attribute].emplace_back(json.key());
            json.skip();
          }
        }
      }
    }
  }

  /// The attribute that names who drew; empty: none does.
  std::string annotator_attribute(const std::set<std::string>& keys, const char* of) {
    const std::string& asked = context_.options.annotator_key;
    if (!asked.empty()) return keys.count(asked) > 0 ? asked : "";
    if (!context_.options.annotator.empty() || context_.options.annotator_from != AnnotatorFrom::automatic) return {};
    std::vector<std::string> found;
    for (const std::string& key : keys) {
      if (resembles_annotator_id(key)) found.push_back(key);
    }
    if (found.size() > 1) {
      throw DataError(name_ + ": several attributes may say who drew (" + printable(join(found)) +
                      "); name the one that does with --annotator-key");
    }
    if (found.size() == 1) context_.note(name_ + ": " + of + " attribute " + in_quotes(found[0]) + " says who drew");
    return found.empty() ? "" : found[0];
  }

  void choose_class_attribute(const std::set<std::string>& keys) {
    if (!class_key_.empty()) return;
    if (keys.size() == 1) {
      class_key_ = *keys.begin();
      return;
    }
    if (keys.empty()) return;
    std::vector<std::string> named;
    for (const std::string& key : keys) {
      const std::string lower = lower_case(key);
      for (const char* usual : {"class", "label", "category", "class_name", "classname", "label_name"}) {
        if (lower == usual) named.push_back(key);
      }
    }
    if (named.size() != 1) {
      throw DataError(name_ + ": regions have several attributes (" + printable(join({keys.begin(), keys.end()})) +
                      "); say which is the class with --columns class=ATTRIBUTE");
    }
    class_key_ = named[0];
    context_.note(name_ + ": the class is the attribute " + in_quotes(class_key_));
  }

  void use_all() {
    std::set<std::string> region_keys, picture_keys;
    std::size_t regions = 0;
    for (const Picture& picture : pictures_) {
      for (const auto& [key, value] : picture.attributes) picture_keys.insert(key);
      regions += picture.regions.size();
      for (const Region& region : picture.regions) {
        for (const auto& [key, value] : region.attributes) region_keys.insert(key);
      }
    }
    const std::string drawn_by = annotator_attribute(region_keys, "the regions'");
    const std::string seen_by = drawn_by.empty() ? annotator_attribute(picture_keys, "the files'") : "";
    if (!context_.options.annotator_key.empty() && drawn_by.empty() && seen_by.empty()) {
      throw DataError(name_ + ": expected the attribute " + in_quotes(context_.options.annotator_key) +
                      " of --annotator-key, found none of that name");
    }
    region_keys.erase(drawn_by);
    choose_class_attribute(region_keys);
    if (class_key_.empty() && regions > 0) {
      context_.note(name_ + ": regions have no attributes, so all are of one class, \"object\"");
    }
    for (const std::string& name : options_[class_key_]) builder_.mention_class(RecordId::string(name), name, {});
    if (drawn_by.empty()) builder_.assignments_are_known();
    for (const Picture& picture : pictures_) use(picture, drawn_by, seen_by);
  }

  void use(const Picture& picture, const std::string& drawn_by, const std::string& seen_by) {
    const RecordId id = RecordId::string(picture.file);
    builder_.define_image(id, picture.file, 0, 0, picture.place);
    const std::int32_t image = builder_.image(id, "filename", picture.place);
    const auto who = [&](const Attributes& attributes, const std::string& key, const RecordPlace& place) {
      const auto found = attributes.find(key);
      if (found != attributes.end()) return builder_.mention_annotator(RecordId::untyped(found->second), "", place);
      builder_.report(ProblemKind::bad_record, place,
                      "expected the attribute " + in_quotes(key) + " (who drew), found none");
      return -1;
    };
    std::int32_t annotator = -1;
    if (drawn_by.empty()) {
      annotator = seen_by.empty()
                      ? builder_.mention_annotator(RecordId::untyped(context_.source_annotator()), "", picture.place)
                      : who(picture.attributes, seen_by, picture.place);
      if (annotator < 0) return;
      builder_.add_assignment(image, annotator, picture.place);
    }
    for (const Region& region : picture.regions) {
      const std::string what = "a region of the shape " + in_quotes(region.shape);
      if (region.shape != "rect") {
        if (!region.box) {
          context_.leave_shape(region.place, what);
          continue;
        }
        if (!context_.takes_shape(region.place, what)) continue;
      }
      const auto named = region.attributes.find(class_key_);
      if (!class_key_.empty() && named == region.attributes.end()) {
        builder_.report(ProblemKind::bad_record, region.place,
                        "expected the attribute " + in_quotes(class_key_) + " (the class), found none");
        continue;
      }
      const std::int32_t drawer = drawn_by.empty() ? annotator : who(region.attributes, drawn_by, region.place);
      if (drawer < 0) continue;
      const std::string name = class_key_.empty() ? "object" : named->second;
      builder_.add_box(image, builder_.mention_class(RecordId::string(name), name, region.place), drawer, *region.box,
                       region.place);
    }
  }

  std::string name_;
  ReadContext& context_;
  CrowdBuilder& builder_;
  std::vector<Picture> pictures_;
  std::map<std::string, std::vector<std::string>> options_;
  std::string class_key_;
};

void parse_via(std::istream& in, const std::string& name, ReadContext& context) {
  if (first_character(in) == '{') {
    ViaReader(name, context).read_json(in);
  } else {
    ViaReader(name, context).read_table(in);
  }
}

void read_via(const std::string& path, ReadContext& context) {
  read_one_file(path, context, parse_via);
}

/// Whether the object that comes next is a picture: it has "filename" and "regions" (or what VIA puts beside them).
bool is_picture(JsonReader& json) {
  bool file = false, regions = false;
  json.begin_object();
  while (json.next_member()) {
    file = file || json.key() == "filename";
    regions = regions || json.key() == "regions" || json.key() == "file_attributes";
    json.skip();
  }
  return file && regions;
}

bool is_via_json(const std::string& path) {
  return probe_json(path, [](JsonReader& json) {
    if (json.peek() != JsonReader::Type::object) return false;
    json.begin_object();
    while (json.next_member()) {
      if (json.key().rfind("_via_", 0) == 0) return true;
      if (json.peek() != JsonReader::Type::object) return false;
      return is_picture(json);
    }
    return false;
  });
}

bool looks_like_via(const std::string& path) {
  if (is_folder(path)) return false;
  if (!ends_with(lower_case(path), ".csv")) return is_via_json(path);
  std::ifstream in = open_input(path);
  std::string line;
  std::getline(in, line);
  return line.size() < 4096 && line.find("region_shape_attributes") != std::string::npos;
}

}  // namespace

CrowdFormat via_format() {
  CrowdFormat row = {"via",          "VGG Image Annotator (VIA) 1 and 2, JSON or table, one file per annotator",
                     looks_like_via, parse_via,
                     read_via,       number_classes,
                     nullptr,        true};
  row.takes.columns = row.takes.annotator_key = row.takes.from_key = true;
  return row;
}

}  // namespace bdc
