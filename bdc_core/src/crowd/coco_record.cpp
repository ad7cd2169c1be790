#include "crowd/coco_record.h"

#include <charconv>
#include <cmath>

#include "bdc/base/text.h"
#include "crowd/segmentation.h"

namespace bdc {

RecordId read_id(JsonReader& json) {
  switch (json.peek()) {
    case JsonReader::Type::number:
      return RecordId::integer(json.integer());
    case JsonReader::Type::string: {
      const std::string_view text = json.string();
      if (text.empty()) json.fail_value("expected an id, found an empty string");
      return RecordId::string(text);
    }
    default:
      json.fail_value("expected an id: a whole number or a string");
  }
}

void read_numbers(JsonReader& json, std::vector<double>& out, std::size_t limit) {
  out.clear();
  json.begin_array();
  while (json.next_element()) {
    if (out.size() == limit) json.fail_value("expected at most " + std::to_string(limit) + " numbers, found more");
    out.push_back(json.number_or_nan());
  }
}

namespace {

/// A number or a string; whatever else stands there is no id and is passed over.
std::optional<RecordId> read_own_id(JsonReader& json) {
  const JsonReader::Type type = json.peek();
  if (type != JsonReader::Type::number && type != JsonReader::Type::string) {
    json.skip();
    return std::nullopt;
  }
  try {
    return read_id(json);
  } catch (const JsonValueError&) {
    return std::nullopt;  // the value itself has been read
  }
}

}  // namespace

std::optional<RecordId> read_optional_id(JsonReader& json) {
  const JsonReader::Type type = json.peek();
  if (type == JsonReader::Type::object) {
    std::optional<RecordId> id, email;
    json.begin_object();
    while (json.next_member()) {
      if (json.key() == "id") {
        id = read_optional_id(json);
      } else if (json.key() == "email") {
        email = read_optional_id(json);
      } else {
        json.skip();
      }
    }
    return id ? id : email;
  }
  return read_own_id(json);
}

namespace {

/// COCO's own members of an annotation that bdc has no use for.
bool is_plain_member(std::string_view key) {
  return key == "id" || key == "segmentation" || key == "keypoints" || key == "num_keypoints";
}

}  // namespace

bool resembles_annotator_id(std::string_view key) {
  if (key.size() < 4 || key.size() > 24) return false;
  std::string name;  // without case and what joins words: workerId, worker-id and worker_id are one
  for (const char c : lower_case(key)) {
    if (c != '_' && c != '-' && c != ' ' && c != '.') name += c;
  }
  for (const char* by : {"annotatedby", "labeledby", "labelledby", "drawnby", "completedby"}) {
    if (name == by) return true;
  }
  for (const char* end : {"id", "name"}) {
    if (ends_with(name, end)) {
      name.resize(name.size() - std::string_view(end).size());
      break;
    }
  }
  for (const char* who : {"worker", "rater", "labeler", "labeller", "user"}) {
    if (name == who) return true;
  }
  return !name.empty() && name.back() == 'r' && edit_distance(name, "annotator") <= 2;  // not "annotated"
}

bool may_name_person(std::string_view key) {
  if (key.size() > 40) return false;
  std::vector<std::string> words(1);
  for (std::size_t i = 0; i < key.size(); ++i) {  // createdBy and created_by are the same words
    const char c = key[i];
    const bool is_upper = c >= 'A' && c <= 'Z';
    if (c == '_' || c == '-' || c == ' ' || c == '.' || (is_upper && i > 0 && key[i - 1] >= 'a')) words.emplace_back();
    if (c != '_' && c != '-' && c != ' ' && c != '.') words.back() += is_upper ? static_cast<char>(c - 'A' + 'a') : c;
  }
  if (words.back() == "by") return words.size() > 1;
  for (const std::string& word : words) {
    for (const char* who : {"rad",       "radiologist", "reader",   "doctor",   "physician",   "expert",  "person",
                            "author",    "creator",     "reviewer", "observer", "participant", "labeler", "labeller",
                            "annotator", "worker",      "rater",    "user",     "assignee",    "editor",  "email"}) {
      if (word == who) return true;
    }
  }
  return false;
}

bool lists_annotators(std::string_view key) {
  for (const char* known : {"rater_list", "raters", "rater_ids", "annotators", "annotator_list", "annotator_ids"}) {
    if (key == known) return true;
  }
  return false;
}

void read_attributes(JsonReader& json, CocoRecord& record, const std::string& owner) {
  const std::string prefix = owner + ".";
  std::string_view wanted = record.annotator_key;
  if (wanted.substr(0, prefix.size()) == prefix) {
    wanted.remove_prefix(prefix.size());
  } else {
    wanted = {};
  }
  json.begin_object();
  while (json.next_member()) {
    const std::string_view key = json.key();
    if (!wanted.empty() && key == wanted) {
      record.annotator_id = read_optional_id(json);
    } else if (key == "rotation" && owner == "attributes" && json.peek() == JsonReader::Type::number) {
      record.rotation = json.number();
    } else if (record.wants_candidates && (resembles_annotator_id(key) || may_name_person(key))) {
      std::string name = prefix + std::string(key);
      record.persons.push_back({std::move(name), read_optional_id(json)});
    } else {
      json.skip();
    }
  }
}

namespace {

/// Detectron2's: how the numbers of a bbox are meant. What is not x, y, width, height in the end is refused.
void use_bbox_mode(JsonReader& json, std::int64_t mode, CocoRecord& record) {
  enum : std::int64_t { corners = 0, extents = 1 };
  if (mode != corners && mode != extents) {
    json.fail_value("expected the bbox_mode 0 (x1, y1, x2, y2 in pixels) or 1 (x, y, width, height), found " +
                    std::to_string(mode));
  }
  if (mode == extents || !record.bbox) return;
  (*record.bbox)[2] -= (*record.bbox)[0];
  (*record.bbox)[3] -= (*record.bbox)[1];
  record.corners_said = true;
}

/// 0 or 1, true or false, and these as texts.
bool read_flag(JsonReader& json) {
  switch (json.peek()) {
    case JsonReader::Type::boolean:
      return json.boolean();
    case JsonReader::Type::null:
      json.null();
      return false;
    case JsonReader::Type::string: {
      const std::string text = lower_case(std::string(json.string()));
      if (text == "true" || text == "1") return true;
      if (text == "false" || text == "0" || text.empty()) return false;
      json.fail_value("expected 0 or 1, found " + in_quotes(text));
    }
    default:
      return json.integer() != 0;
  }
}

/// Whether the annotator wanted stands in this object: "extra" for "extra.annotator".
bool holds_annotator(const CocoRecord& record, std::string_view key) {
  const std::string& wanted = record.annotator_key;
  return wanted.size() > key.size() && wanted[key.size()] == '.' && wanted.compare(0, key.size(), key) == 0;
}

}  // namespace

void read_coco_record(JsonReader& json, CocoRecord& record) {
  record.index = json.depth() > 0 ? json.index() : 0;
  record.id.reset();
  record.image_id.reset();
  record.category_id.reset();
  record.annotator_id.reset();
  record.candidates.clear();
  record.persons.clear();
  record.person_list.clear();
  record.bbox.reset();
  record.shape.reset();
  record.has_shape = false;
  record.score.reset();
  record.area.reset();
  record.weight.reset();
  record.existence.reset();
  record.located.reset();
  record.class_probs.clear();
  record.box_std.clear();
  record.is_crowd = record.is_deleted = record.corners_said = false;
  record.rotation = 0;
  std::optional<std::int64_t> bbox_mode;

  static_cast<void>(json.peek());
  record.line = json.line();
  json.begin_object();
  while (json.next_member()) {
    const std::string_view key = json.key();
    if (key == record.annotator_key) {
      record.annotator_id = json.peek() == JsonReader::Type::object ? read_optional_id(json) : read_id(json);
    } else if (key == "image_id") {
      record.image_id = read_id(json);
    } else if (key == "category_id") {
      record.category_id = read_id(json);
    } else if (key == "id" && record.wants_id) {
      record.id = read_own_id(json);
    } else if (key == "bbox") {
      std::array<double, 4> numbers{};
      std::size_t count = 0;
      json.begin_array();
      while (json.next_element()) {
        if (count == 4) json.fail_value("expected a bbox of 4 numbers [x, y, width, height], found more");
        numbers[count++] = json.number_or_nan();
      }
      if (count != 4) {
        json.fail_value("expected a bbox of 4 numbers [x, y, width, height], found " + std::to_string(count));
      }
      record.bbox = numbers;
    } else if (key == "segmentation" && json.peek() != JsonReader::Type::null) {
      record.has_shape = true;
      if (record.wants_shape) {
        record.shape = read_segmentation_box(json);
      } else {
        json.skip();
      }
    } else if (key == "attributes" && json.peek() == JsonReader::Type::object) {
      read_attributes(json, record);
    } else if (key == "score") {
      record.score = json.number();
    } else if (key == "area") {
      if (json.peek() == JsonReader::Type::null) {
        json.null();
      } else {
        record.area = json.number();
      }
    } else if (key == "iscrowd") {
      record.is_crowd = read_flag(json);
    } else if (key == "deleted" && json.peek() == JsonReader::Type::boolean) {
      record.is_deleted = json.boolean();
    } else if (key == "bbox_mode" && json.peek() == JsonReader::Type::number) {
      bbox_mode = json.integer();
    } else if (key == "class_probs") {
      read_numbers(json, record.class_probs, 1000000);
    } else if (key == "weight") {
      record.weight = json.number();
    } else if (key == "existence") {
      record.existence = json.number();
    } else if (key == "located") {
      record.located = json.number();
    } else if (key == "box_std") {
      read_numbers(json, record.box_std, 4);
    } else {
      if (record.wants_candidates && !is_plain_member(key) && resembles_annotator_id(key)) {
        const std::string name(key);
        record.candidates.push_back({name, read_optional_id(json)});
      } else if (record.wants_candidates && may_name_person(key)) {
        const std::string name(key);
        record.persons.push_back({name, read_optional_id(json)});
      } else if (json.peek() == JsonReader::Type::object && (record.wants_candidates || holds_annotator(record, key))) {
        read_attributes(json, record, std::string(key));
      } else {
        if (record.wants_candidates && lists_annotators(key)) record.person_list = key;
        json.skip();
      }
    }
  }
  if (bbox_mode) use_bbox_mode(json, *bbox_mode, record);
  const char* missing = !record.image_id      ? "image_id"
                        : !record.category_id ? "category_id"
                        : !record.bbox && !(record.may_lack_box && record.has_shape) && !record.may_be_bare ? "bbox"
                                                                                                            : nullptr;
  if (missing != nullptr) json.fail_value(std::string("expected the member ") + in_quotes(missing) + ", found none");
}

double written_extent(double low, double high) {
  const double plain = high - low;
  if (std::floor(plain) == plain && low + plain == high) return plain;
  char text[40];
  for (const int digits : {8, 10, 12, 13, 14, 15, 16, 17}) {
    const auto end = std::to_chars(text, text + sizeof(text), plain, std::chars_format::general, digits).ptr;
    double rounded = 0;
    std::from_chars(text, end, rounded);
    if (low + rounded == high && rounded >= 0) return rounded;
  }
  // A neighbour of the difference may still do it.
  for (const double target : {std::nextafter(plain, 0.0), std::nextafter(plain, 2 * plain)}) {
    if (low + target == high) return target;
  }
  return plain;
}

void write_bbox(JsonWriter& json, const Box& box) {
  json.key("bbox").begin_array();
  json.number(box.x1).number(box.y1);
  json.number(written_extent(box.x1, box.x2)).number(written_extent(box.y1, box.y2));
  json.end_array();
}

void write_id(JsonWriter& json, const ExternalId& id) {
  const RecordId typed = RecordId::from(id);
  if (typed.is_integer) {
    json.integer(typed.value);
  } else {
    json.string(typed.text);
  }
}

}  // namespace bdc
