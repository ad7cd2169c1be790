// COCO JSON: bdc's own crowd format (annotator_id on every annotation, annotators[], assignments[], optional truth[])
// and plain COCO, where a file holds the boxes of one annotator, or the truth.
#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/files.h"
#include "bdc/base/atomic_file.h"
#include "bdc/base/error.h"
#include "bdc/base/json_stream.h"
#include "bdc/base/text.h"
#include "crowd/coco_record.h"
#include "crowd/coco_writer.h"
#include "crowd/format.h"
#include "crowd/json_records.h"
#include "crowd/person_members.h"

namespace bdc {
namespace {

/// Who drew the boxes of a file.
enum class Authors {
  undecided,       ///< the first annotation decides
  per_annotation,  ///< each names its own
  elsewhere        ///< plain COCO: all are the file's, or each is its image's
};

/// A member of an image that names the one who drew all its boxes.
bool names_annotator(std::string_view key) {
  for (const char* known : {"annotator", "annotator_id", "rater", "rater_id", "worker_id", "completed_by"}) {
    if (key == known) return true;
  }
  return false;
}

class CocoFileReader {
 public:
  CocoFileReader(JsonReader& json, ReadContext& context, Authors authors)
      : json_(json), context_(context), builder_(context.builder), authors_(authors) {
    // Only a warning comes of it: no memory for ids unless somebody listens.
    record_.wants_id = !builder_.problems().strict();
    // Who drew the truth does not matter, and of plain COCO it was said that one person drew all.
    const ReadOptions& options = context.options;
    const bool by_path =
        options.annotator_from == AnnotatorFrom::file || options.annotator_from == AnnotatorFrom::folder;
    if (!options.annotator_key.empty()) {
      record_.annotator_key = options.annotator_key;
    } else if (by_path) {
      record_.annotator_key.clear();
      authors_ = Authors::elsewhere;
    }
    record_.wants_candidates =
        builder_.role() == BoxRole::crowd && !plain_asked() && !by_path && options.annotator_key.empty();
    first_box_ = builder_.boxes();
    record_.wants_shape = options.shapes_to_boxes;
    record_.may_lack_box = record_.may_be_bare = true;
  }

  void read() {
    builder_.begin_file(json_.name());
    if (json_.peek() != JsonReader::Type::object) {
      json_.fail_value("expected a COCO object with images, categories and annotations, found something else");
    }
    try {
      read_sections();
    } catch (const DataError&) {
      settle_annotators();  // what was read before the break is kept by those who read leniently
      throw;
    }
    settle_annotators();
    tell_peculiarities();
    if (sections_.count("annotators") == 0) builder_.define_mentioned_annotators();
    if (builder_.role() == BoxRole::truth) {
      finish_truth();
    } else if (authors_ != Authors::per_annotation && image_annotators_.empty() && !raters_listed_ &&
               sections_.count("annotators") + sections_.count("assignments") == 0) {
      // Who made a plain file saw all the images it lists.
      const std::int32_t annotator = file_annotator(builder_.place(0));
      builder_.for_images_of_this_file([&](std::int32_t image) { builder_.add_assignment(image, annotator, {}); });
      builder_.assignments_are_known();
    }
  }

 private:
  void read_sections() {
    json_.begin_object();
    while (json_.next_member()) section();
    json_.finish();
    for (const char* needed : {"images", "categories", "annotations"}) {
      if (sections_.count(needed) == 0) {
        json_.fail_value(std::string("expected the member ") + in_quotes(needed) +
                         " (COCO has images, categories and annotations), found none");
      }
    }
  }

  /// The annotations' own ids that a list has shown so far.
  struct OwnIds {
    IdTable table;
    std::vector<std::size_t> first_line;  ///< by the id's number
  };

  void section() {
    const std::string name(json_.key());
    static const std::set<std::string> known = {"images",      "categories", "annotators",  "annotations",
                                                "assignments", "truth",      "truth_images"};
    if (known.count(name) == 0) {
      json_.skip();
      return;
    }
    if (!sections_.insert(name).second)
      json_.fail_value("expected the member " + in_quotes(name) + " once, found it twice");
    if (name == "images") {
      each([this] { image(); });
    } else if (name == "categories") {
      each([this] { category(); });
    } else if (name == "annotators") {
      each([this] { annotator(); });
    } else if (name == "annotations") {
      each([this] { annotation(); });
    } else if (name == "assignments") {
      each([this] { assignment(); });
      builder_.assignments_are_known();
    } else if (name == "truth") {
      builder_.has_truth();
      each([this] { truth(); });
    } else {
      builder_.truth_coverage_is_listed();
      each([this] {
        const RecordPlace place = builder_.place(json_.line(), "truth_images", json_.index());
        builder_.truth_covers(builder_.image(read_id(json_), "truth_images", place));
      });
    }
  }

  template <class Body>
  void each(const Body& body) {
    for_each_record(json_, builder_.problems(), body);
  }

  /// What the numbers of the boxes mean, and what was left out.
  void tell_peculiarities() {
    const std::string& file = json_.name();
    if (corners_said_ > 0) {
      context_.note(file + ": " + counted(corners_said_, "bbox is", "bboxes are") +
                    " x1, y1, x2, y2, as bbox_mode says");
    }
    if (corners_by_area_ > 2 && 10 * corners_by_area_ >= 9 * areas_) {
      context_.refusal = file + ": the area of " + std::to_string(corners_by_area_) + " of " +
                         counted(areas_, "annotation") +
                         " says that bbox holds x1, y1, x2, y2; expected COCO's x, y, width, height. Write these, or "
                         "add \"bbox_mode\": 0 to each annotation";
    }
    if (deleted_ > 0) {
      context_.note(file + ": " + counted(deleted_, "record") + " marked as deleted " + (deleted_ == 1 ? "is" : "are") +
                    " left out");
    }
    if (!person_list_.empty()) {
      context_.note(
          file + ": the member " + in_quotes(person_list_) +
          " of the annotations may list who drew; it is not used. If it does, write each box once for each of "
          "them, with annotator_id");
    }
  }

  void image() {
    const RecordPlace place = begin_record("images");
    bool deleted = false;
    RecordId id;
    bool has_id = false;
    std::int64_t width = 0, height = 0;
    file_.clear();
    std::optional<RecordId> annotator;
    std::vector<RecordId> raters;
    const bool crowd = builder_.role() == BoxRole::crowd && record_.wants_candidates;
    while (json_.next_member()) {
      const std::string_view key = json_.key();
      if (crowd && lists_annotators(key)) {
        raters = read_raters();
      } else if (crowd && names_annotator(key)) {
        const std::string name(key);
        annotator = read_optional_id(json_);
        if (annotator) image_key_ = name;
      } else if (key == "id") {
        id = read_id(json_);
        has_id = true;
      } else if (key == "file_name") {
        file_ = read_optional_string(json_);
      } else if (key == "width") {
        width = read_optional_integer(json_);
      } else if (key == "height") {
        height = read_optional_integer(json_);
      } else if (key == "deleted" && json_.peek() == JsonReader::Type::boolean) {
        deleted = json_.boolean() && sections_.count("annotations") == 0;
      } else {
        json_.skip();
      }
    }
    if (!has_id) json_.fail_value("expected the member \"id\", found none");
    if (deleted) {
      deleted_images_.add(id);
      ++deleted_;
      return;
    }
    builder_.define_image(id, file_, width, height, place);
    if (!annotator && raters.empty()) return;
    const std::int32_t image = builder_.image(id, "id", place);
    for (const RecordId& rater : raters) {
      raters_listed_ = true;
      builder_.add_assignment(image, builder_.annotator(rater, "annotator", place), place);
    }
    if (raters_listed_) builder_.assignments_are_known();
    if (annotator) {
      image_annotators_[image] = builder_.annotator(*annotator, "annotator", place);
      builder_.image_is_annotators(image, image_annotators_[image]);
      builder_.add_assignment(image, image_annotators_[image], place);
      builder_.assignments_are_known();
    }
  }

  /// ["r1", "r2"], or {"r1": [1], "r2": [1]} with the sessions of each.
  std::vector<RecordId> read_raters() {
    std::vector<RecordId> out;
    if (json_.peek() == JsonReader::Type::null) {
      json_.null();
    } else if (json_.peek() == JsonReader::Type::object) {
      json_.begin_object();
      while (json_.next_member()) {
        out.push_back(RecordId::string(json_.key()));
        std::size_t sessions = 0;
        json_.begin_array();
        for (; json_.next_element(); ++sessions) json_.skip();
        if (sessions > 1) {
          json_.fail_value("expected an annotator to have labelled the image once, found " + std::to_string(sessions) +
                           " sessions of " + out.back().shown() + "; give each session an annotator of its own");
        }
      }
    } else {
      json_.begin_array();
      while (json_.next_element()) out.push_back(read_id(json_));
    }
    return out;
  }

  /// Boxes that do not say who drew them are their image's annotator's, where images name theirs, else the file's.
  void settle_annotators() {
    if (builder_.boxes() == first_box_ || authors_ == Authors::per_annotation) return;
    if (image_annotators_.empty()) persons_.tell(json_.name(), "annotation", context_);
    if (!image_annotators_.empty()) {
      context_.note(json_.name() + ": the annotators are those that the images name (" + in_quotes(image_key_) + ")");
    } else if (raters_listed_) {
      throw DataError(json_.name() +
                      ": images list their annotators, but annotations do not say which of them drew; expected "
                      "\"rater_id\" or \"annotator_id\" on each");
    }
    builder_.set_annotators(first_box_, [&](std::int32_t image) {
      const auto known = image_annotators_.find(image);
      if (known != image_annotators_.end()) return known->second;
      if (!image_annotators_.empty()) {
        throw DataError(json_.name() + ": expected " + in_quotes(image_key_) +
                        " on all images or on none, found boxes on an image without it");
      }
      return file_annotator(builder_.place(0));
    });
  }

  void category() {
    const RecordPlace place = begin_record("categories");
    named(place, [&](const RecordId& id) {
      if (lower_case(name_) == "empty") nothing_.add(id);
      builder_.define_class(id, name_.empty() ? (id.is_integer ? std::to_string(id.value) : id.text) : name_, place);
    });
  }

  void annotator() {
    const RecordPlace place = begin_record("annotators");
    named(place, [&](const RecordId& id) { builder_.define_annotator(id, name_, place); });
  }

  template <class Define>
  void named(const RecordPlace&, const Define& define_it) {
    RecordId id;
    bool has_id = false;
    name_.clear();
    while (json_.next_member()) {
      if (json_.key() == "id") {
        id = read_id(json_);
        has_id = true;
      } else if (json_.key() == "name") {
        name_ = read_optional_string(json_);
      } else {
        json_.skip();
      }
    }
    if (!has_id) json_.fail_value("expected the member \"id\", found none");
    define_it(id);
  }

  /// CVAT's rotated boxes stand in COCO as they were before they were turned.
  void turn(const RecordPlace& place) {
    if (record_.is_crowd) return;
    const Box box = context_.upright(record_.box(), record_.rotation, place);
    record_.bbox = {box.x1, box.y1, box.width(), box.height()};
    record_.area.reset();
  }

  /// Whether an annotation says of its image that nothing is there: camera traps have a category "empty" for it.
  bool says_nothing() {
    if (record_.bbox || record_.has_shape) return false;
    if (nothing_.find(*record_.category_id) == IdTable::none) {
      json_.fail_value("expected the member \"bbox\", found none");
    }
    return true;
  }

  /// Whether a record was taken back, or is of an image that was.
  bool is_deleted() {
    const bool gone = record_.is_deleted || deleted_images_.find(*record_.image_id) != IdTable::none;
    deleted_ += gone ? 1 : 0;
    return gone;
  }

  /// Counts boxes whose area is that of x1, y1, x2, y2 and not that of x, y, width, height.
  void compare_area() {
    if (!record_.area || *record_.area <= 0 || record_.corners_said || record_.is_crowd) return;
    const auto& [a, b, c, d] = *record_.bbox;
    const auto is_area = [&](double product) { return std::abs(product - *record_.area) <= 0.01 * *record_.area; };
    ++areas_;
    corners_by_area_ += c > a && d > b && is_area((c - a) * (d - b)) && !is_area(c * d) ? 1 : 0;
  }

  /// False for a shape without a box that is left out.
  bool has_box(const RecordPlace& place) {
    if (record_.bbox) {
      compare_area();
      corners_said_ += record_.corners_said ? 1 : 0;
      if (record_.rotation != 0) turn(place);
      return true;
    }
    const std::string what = "a segmentation without a bbox";
    if (record_.wants_shape && !record_.shape) {
      context_.leave_shape(place, what);
      return false;
    }
    if (!context_.takes_shape(place, what)) return false;
    const Box& around = *record_.shape;
    record_.bbox = {around.x1, around.y1, around.width(), around.height()};
    return true;
  }

  void annotation() {
    read_coco_record(json_, record_);
    const RecordPlace place = builder_.place(record_.line, "annotations", record_.index);
    if (is_deleted()) return;
    if (says_nothing()) {
      if (record_.annotator_id && builder_.role() == BoxRole::crowd) {
        builder_.add_assignment(builder_.image(*record_.image_id, "image_id", place),
                                builder_.annotator(*record_.annotator_id, "annotator_id", place), place);
      }
      return;
    }
    if (!has_box(place)) return;
    check_own_id(annotation_ids_, place);
    if (builder_.role() == BoxRole::truth) {
      if (record_.annotator_id) {
        ++crowd_boxes_;
      } else {
        ++true_boxes_;
        add_truth(place);
      }
      return;
    }
    if (authors_ == Authors::undecided) decide_authors(place);
    check_candidates(place);
    persons_.add(record_.persons);
    if (person_list_.empty() && !record_.annotator_id) person_list_ = record_.person_list;
    if (record_.score) context_.saw_score(*record_.score);
    std::int32_t annotator = -1;  // settled at the end of the file
    if (authors_ == Authors::elsewhere) {
      if (record_.annotator_id && plain_asked()) {
        throw DataError(builder_.text(place) +
                        ": expected plain COCO, where all boxes of a file are one annotator's, found an annotator_id; "
                        "read it as the format \"crowd\", or leave the format out, to keep the annotators apart");
      }
      if (record_.annotator_id) {
        json_.fail_value("annotator_id stands here but not on earlier annotations; expected it on all or on none");
      }
    } else {
      if (!record_.annotator_id) {
        json_.fail_value("expected the member " + in_quotes(record_.annotator_key) + " with the annotator, found none");
      }
      annotator = builder_.annotator(*record_.annotator_id, "annotator_id", place);
    }
    if (record_.is_crowd) {
      context_.leave_shape(place, "a region with many objects (iscrowd)");
      return;
    }
    builder_.add_box(builder_.image(*record_.image_id, "image_id", place),
                     builder_.label(*record_.category_id, "category_id", place), annotator, record_.box(), place);
  }

  /// The first annotation tells where the annotators stand.
  void decide_authors(const RecordPlace& place) {
    authors_ = Authors::per_annotation;
    if (record_.annotator_id || !context_.options.annotator_key.empty()) return;
    std::vector<const CocoRecord::Candidate*> found;
    for (const CocoRecord::Candidate& candidate : record_.candidates) {
      if (candidate.id) found.push_back(&candidate);
    }
    if (found.size() == 1) {
      record_.annotator_key = found.front()->key;
      record_.annotator_id = found.front()->id;
      record_.candidates.clear();
      context_.note(json_.name() + ": the annotators are those of the member " + in_quotes(record_.annotator_key));
      return;
    }
    authors_ = Authors::elsewhere;
    if (context_.options.annotator_from == AnnotatorFrom::key) {
      throw DataError(builder_.text(place) +
                      ": expected a member that names the annotator (annotator_id, worker_id, ...), found " +
                      (found.empty() ? "none" : "several") + "; name it with --annotator-key");
    }
  }

  /// More than one member that may name the annotator: which one does cannot be known.
  void check_candidates(const RecordPlace& place) {
    if (record_.candidates.empty() ||
        (authors_ == Authors::per_annotation && record_.annotator_key == "annotator_id")) {
      return;
    }
    std::vector<std::string> keys;
    if (authors_ == Authors::per_annotation) keys.push_back(in_quotes(record_.annotator_key));
    for (const CocoRecord::Candidate& candidate : record_.candidates) {
      if (candidate.id) keys.push_back(in_quotes(candidate.key));
    }
    if (keys.empty()) return;
    builder_.problems().report(ProblemKind::misnamed_annotator, [&] {
      return builder_.text(place) +
             (keys.size() == 1 ? ": the member " + keys.front() +
                                     " seems to name the annotator, but earlier annotations do not have it"
                               : ": the members " + join(keys) + " all seem to name the annotator") +
             "; say which does with --annotator-key NAME, or read the file with --annotator-from file if one person "
             "drew "
             "all its boxes";
    });
  }

  void truth() {
    read_coco_record(json_, record_);
    const RecordPlace place = builder_.place(record_.line, "truth", record_.index);
    if (is_deleted() || says_nothing() || !has_box(place)) return;
    check_own_id(truth_ids_, place);
    add_truth(place);
  }

  /// Warns when an earlier annotation of this list and file has the same id.
  void check_own_id(OwnIds& seen, const RecordPlace& place) {
    if (!record_.id) return;
    const auto number = static_cast<std::size_t>(seen.table.add(*record_.id));
    if (number == seen.first_line.size()) {
      seen.first_line.push_back(record_.line);
      return;
    }
    builder_.problems().report(ProblemKind::duplicate_annotation_id, [&] {
      return builder_.text(place) + ": the id " + record_.id->shown() + " was given to the annotation in line " +
             std::to_string(seen.first_line[number]) + " before; expected a different id for each";
    });
  }

  void add_truth(const RecordPlace& place) {
    builder_.add_truth(builder_.image(*record_.image_id, "image_id", place),
                       builder_.label(*record_.category_id, "category_id", place), record_.box(), record_.is_crowd,
                       record_.area.value_or(-1), place, &*record_.bbox);
  }

  void assignment() {
    const RecordPlace place = begin_record("assignments");
    std::int32_t image = -1, annotator = -1;
    while (json_.next_member()) {
      if (json_.key() == "image_id") {
        image = builder_.image(read_id(json_), "image_id", place);
      } else if (json_.key() == "annotator_id") {
        annotator = builder_.annotator(read_id(json_), "annotator_id", place);
      } else {
        json_.skip();
      }
    }
    if (image < 0) json_.fail_value("expected the member \"image_id\", found none");
    if (annotator < 0) json_.fail_value("expected the member \"annotator_id\", found none");
    if (builder_.role() == BoxRole::crowd) builder_.add_assignment(image, annotator, place);
  }

  void finish_truth() {
    if (crowd_boxes_ > 0 && true_boxes_ == 0 && sections_.count("truth") == 0) {
      throw DataError(json_.name() +
                      ": expected true boxes, found only annotators' boxes (annotations with annotator_id)");
    }
    if (sections_.count("truth_images") == 0) {
      builder_.for_images_of_this_file([&](std::int32_t image) { builder_.truth_covers(image); });
    }
  }

  RecordPlace begin_record(const char* list) {
    static_cast<void>(json_.peek());
    const RecordPlace place = builder_.place(json_.line(), list, json_.index());
    json_.begin_object();
    return place;
  }

  std::int32_t file_annotator(const RecordPlace& place) {
    if (file_annotator_ < 0) {
      file_annotator_ = builder_.mention_annotator(RecordId::untyped(context_.source_annotator()), "", place);
    }
    return file_annotator_;
  }

  [[nodiscard]] bool plain_asked() const { return context_.options.format == "coco"; }

  JsonReader& json_;
  ReadContext& context_;
  CrowdBuilder& builder_;
  Authors authors_;
  std::set<std::string> sections_;
  CocoRecord record_;
  OwnIds annotation_ids_, truth_ids_;
  IdTable nothing_;         ///< categories that mean "nothing is there"
  IdTable deleted_images_;  ///< of those that were taken back
  std::size_t deleted_ = 0, corners_said_ = 0;
  std::size_t areas_ = 0, corners_by_area_ = 0;  ///< boxes with an area, and those whose area is of corners
  std::string person_list_;
  std::string file_, name_;
  std::int32_t file_annotator_ = -1;
  std::size_t first_box_ = 0;                                        ///< of this file
  std::unordered_map<std::int32_t, std::int32_t> image_annotators_;  ///< of images that name theirs
  std::string image_key_;                                            ///< the member that names it
  bool raters_listed_ = false;
  PersonMembers persons_;
  std::size_t crowd_boxes_ = 0, true_boxes_ = 0;
};

void parse_crowd_json(std::istream& in, const std::string& name, ReadContext& context) {
  JsonReader json(in, name);
  CocoFileReader(json, context, Authors::undecided).read();
}

void parse_plain_coco(std::istream& in, const std::string& name, ReadContext& context) {
  JsonReader json(in, name);
  CocoFileReader(json, context, Authors::elsewhere).read();
}

void read_crowd_json(const std::string& path, ReadContext& context) {
  read_one_file(path, context, parse_crowd_json);
}
void read_plain_coco(const std::string& path, ReadContext& context) {
  read_one_file(path, context, parse_plain_coco);
}

/// Whether the list of annotations that comes is COCO's: other programs' do not name an image in each.
bool are_coco_annotations(JsonReader& json) {
  json.begin_array();
  bool any = false;
  while (json.next_element()) {
    if (std::exchange(any, true) || json.peek() != JsonReader::Type::object) {
      json.skip();
      continue;
    }
    json.begin_object();
    while (json.next_member()) {
      if (json.key() == "image_id") return true;
      json.skip();
    }
  }
  return !any;
}

/// Whether the list of images that comes is COCO's: MegaDetector's hold what it found in each.
bool are_coco_images(JsonReader& json) {
  if (!begin_list_of_objects(json)) return true;
  while (json.next_member()) {
    if (json.key() == "id") return true;
    if (json.key() == "detections") return false;
    json.skip();
  }
  return true;
}

/// A JSON object with a list that COCO has. One of categories alone is what Label Studio puts beside YOLO's labels.
bool looks_like_coco(const std::string& path) {
  return probe_json(path, [](JsonReader& json) {
    if (json.peek() != JsonReader::Type::object) return false;
    json.begin_object();
    while (json.next_member()) {
      if (json.peek() == JsonReader::Type::array && json.key() == "images") return are_coco_images(json);
      if (json.peek() == JsonReader::Type::array && json.key() == "annotations") {
        if (are_coco_annotations(json)) return true;
      } else {
        json.skip();
      }
    }
    return false;
  });
}

void write_crowd_json(const CrowdData& data, const std::string& path, WriteReport&) {
  AtomicFile file(path);
  {
    JsonWriter json(file.stream());
    json.begin_object();
    write_coco_images(json, data);
    write_coco_categories(json, data);
    json.new_line().key("annotators").begin_array();
    for (const AnnotatorRecord& annotator : data.annotators) {
      json.new_line().begin_object().key("id");
      write_id(json, annotator.id);
      if (!annotator.name.empty()) json.key("name").string(annotator.name);
      json.end_object();
    }
    json.new_line().end_array();
    write_coco_annotations(json, data, true);
    if (data.assignments_known) {
      json.new_line().key("assignments").begin_array();
      for (const Assignment& a : data.assignments) {
        json.new_line().begin_object().key("image_id");
        write_id(json, data.images[static_cast<std::size_t>(a.image)].id);
        json.key("annotator_id");
        write_id(json, data.annotators[static_cast<std::size_t>(a.annotator)].id);
        json.end_object();
      }
      json.new_line().end_array();
    }
    if (data.has_truth) {
      write_coco_truth_boxes(json, data, "truth");
      json.new_line().key("truth_images").begin_array();
      for (std::size_t i = 0; i < data.images.size(); ++i) {
        if (data.truth_covers[i] != 0) write_id(json, data.images[i].id);
      }
      json.end_array();
    }
    json.new_line().end_object();
  }
  file.stream() << '\n';
  file.commit();
}

void write_plain_coco(const CrowdData& data, const std::string& path, WriteReport& report) {
  const bool truth = data.annotations.empty() && data.has_truth;
  if (truth) {
    std::size_t uncovered = 0;
    for (const std::uint8_t covered : data.truth_covers) uncovered += covered == 0 ? 1 : 0;
    add_loss(report, "images that the truth leaves out (they become images without objects)", uncovered);
    add_loss(report, "assignments", data.assignments_known ? data.assignments.size() : 0);
    add_loss(report, "annotators", data.annotators.size());
  } else {
    // One annotator can be told by the file's name; who drew what among several cannot.
    const bool one = data.annotators.size() == 1 && data.annotators[0].id.text == file_stem(path);
    if (!one) add_loss(report, "annotators of annotations", data.annotations.size());
    std::size_t bare = data.assignments.size();
    if (one && data.assignments.size() == data.images.size()) bare = 0;
    add_loss(report, "assignments", data.assignments_known ? bare : 0);
    add_loss(report, "true boxes", data.truth.size());
  }
  AtomicFile file(path);
  {
    JsonWriter json(file.stream());
    json.begin_object();
    write_coco_images(json, data);
    write_coco_categories(json, data);
    if (truth) {
      write_coco_truth_boxes(json, data, "annotations");
    } else {
      write_coco_annotations(json, data, false);
    }
    json.new_line().end_object();
  }
  file.stream() << '\n';
  file.commit();
}

}  // namespace

CrowdFormat crowd_json_format() {
  CrowdFormat row = {"crowd",
                     "COCO JSON with annotator_id on annotations, annotators[] and assignments[] (bdc's own)",
                     looks_like_coco,
                     parse_crowd_json,
                     read_crowd_json,
                     nullptr,
                     write_crowd_json,
                     true,
                     true};
  row.takes.annotator_key = row.takes.from_key = true;
  return row;
}

CrowdFormat coco_format() {
  CrowdFormat row = {"coco",
                     "plain COCO JSON: one file per annotator (named after the file), or the truth",
                     nullptr,
                     parse_plain_coco,
                     read_plain_coco,
                     nullptr,
                     write_plain_coco,
                     true,
                     true};
  row.takes.annotator_key = row.takes.from_key = true;
  return row;
}

}  // namespace bdc
