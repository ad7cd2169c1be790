// Label Studio's JSON export: tasks with annotations, each by one annotator (completed_by: a number, or an object with
// id and email). An annotation with an empty result saw the image and drew nothing; a cancelled one (was_cancelled)
// says nothing; one marked ground_truth is truth. Boxes are rectanglelabels in percent of original_width and _height.
// JSON-MIN has the task's data and the results of each control tag in one object, once per annotation.
#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "base/files.h"
#include "bdc/base/atomic_file.h"
#include "bdc/base/error.h"
#include "bdc/base/json_stream.h"
#include "bdc/base/text.h"
#include "crowd/box_around.h"
#include "crowd/coco_record.h"
#include "crowd/folder_dataset.h"
#include "crowd/format.h"
#include "crowd/json_records.h"
#include "crowd/label_studio_picture.h"

namespace bdc {
namespace {

struct DrawnBox {
  Box percent;
  double rotation = 0;
  std::int64_t width = 0, height = 0;  // of the image, in pixels
  std::string label;
  std::size_t line = 0;
  std::string region;     ///< the result's id, of a box that is labelled by another result (Rectangle and Labels)
  bool has_sides = true;  ///< false: only a label
};

/// One annotator's work on a task.
struct Work {
  std::optional<RecordId> annotator;
  std::string annotator_name;
  double number = 0;  ///< the annotation's id: later ones have higher ones
  bool cancelled = false, truth = false;
  std::vector<DrawnBox> boxes;
  std::vector<DrawnBox> parts;  ///< boxes without labels, and labels without boxes, to be put together by region
  std::size_t line = 0;
};

class LabelStudioReader {
 public:
  LabelStudioReader(JsonReader& json, ReadContext& context)
      : json_(json), context_(context), builder_(context.builder) {}

  void read() {
    builder_.begin_file(json_.name());
    if (json_.peek() != JsonReader::Type::array) {
      json_.fail_value("expected a list of tasks (Label Studio's JSON export), found something else");
    }
    builder_.assignments_are_known();
    builder_.expect_one_assignment_each();
    for_each_record(json_, builder_.problems(), [this] { task(); });
    json_.finish();
    tell_peculiarities();
    if (several_labels_ > 0) {
      context_.note(json_.name() + ": " +
                    counted(several_labels_, "box has several labels", "boxes have several labels") +
                    ", of which only the first is kept");
    }
    if (predicted_ == 0) return;
    const std::string boxes = counted(predicted_, "predicted box", "predicted boxes");
    if (works_ == 0) {
      throw DataError(json_.name() + ": expected annotations, found nothing but predictions (" + boxes +
                      "); nobody drew these. Export a project that people have labelled");
    }
    context_.note(json_.name() + ": " + boxes + (predicted_ == 1 ? " is" : " are") + " left out: nobody drew them");
  }

 private:
  void tell_peculiarities() {
    const std::string& file = json_.name();
    if (superseded_ > 0) {
      context_.note(file + ": " +
                    counted(superseded_, "annotation is left out: its task has a later one by the same annotator",
                            "annotations are left out: their tasks have later ones by the same annotators"));
    }
    if (drafts_ > 0) {
      context_.note(file + ": " + counted(drafts_, "draft is left out: it was", "drafts are left out: they were") +
                    " never submitted");
    }
    if (turned_ > 0) {
      context_.note(file + ": " + counted(turned_, "region was", "regions were") +
                    " drawn on a picture that was turned in Label Studio (image_rotation); places are taken as stated");
    }
    if (guessed_pictures_ > 0) {
      context_.note(file + ": " + counted(guessed_pictures_, "task names", "tasks name") +
                    " several pictures, and nothing says which the boxes are on; the first is taken");
    }
  }

  void task() {
    static_cast<void>(json_.peek());
    const RecordPlace place = builder_.place(json_.line(), "[]", json_.index());
    task_index_ = json_.index();
    picture_.clear();
    std::optional<RecordId> id;
    std::optional<std::vector<Work>> works;
    LabelStudioPicture texts;
    std::int64_t width = 0, height = 0;
    MinTask min;
    json_.begin_object();
    while (json_.next_member()) {
      const std::string_view key = json_.key();
      if (key == "id") {
        id = read_id(json_);
      } else if (key == "data") {
        read_data(texts, width, height);
      } else if (key == "annotations" || key == "completions") {
        works.emplace();
        for_each_record(json_, builder_.problems(), [&] { works->push_back(annotation()); });
      } else if (key == "predictions" && json_.peek() == JsonReader::Type::array) {
        count_predictions();
      } else if (key == "drafts" && json_.peek() == JsonReader::Type::array) {
        json_.begin_array();
        for (; json_.next_element(); ++drafts_) json_.skip();
      } else if (!works) {
        member_of_min(min);
      } else {
        json_.skip();
      }
    }
    if (!works && min.has_annotation) {
      finish_min(min);
      works.emplace();
      works->push_back(std::move(min.work));
      texts = std::move(min.texts);
    }
    if (!id) json_.fail_value("expected the member \"id\", found none");
    if (!works) {
      json_.fail_value("expected the member \"annotations\" (or, in JSON-MIN, \"annotation_id\"), found none");
    }
    const std::string to_name = picture_.substr(0, picture_.find('['));
    const std::string file = texts.file(to_name);
    guessed_pictures_ += texts.is_guessed(to_name) ? 1 : 0;
    std::int32_t image = 0;
    if (min.has_annotation) {  // a task stands once per annotation
      image = builder_.mention_image(*id, file, place);
      builder_.name_image_file(image, file);
    } else {
      builder_.define_image(*id, file, width, height, place);
      image = builder_.image(*id, "id", place);
    }
    works_ += works->size();
    keep_latest(*works);
    for (const Work& work : *works) use(work, image);
  }

  /// Of several annotations of a task by one annotator the latest is kept: nobody sees one object twice.
  void keep_latest(std::vector<Work>& works) {
    std::vector<Work> kept;
    for (Work& work : works) {
      const auto same = std::find_if(kept.begin(), kept.end(), [&](const Work& other) {
        return !work.cancelled && !work.truth && !other.cancelled && !other.truth && work.annotator &&
               other.annotator && work.annotator->shown() == other.annotator->shown();
      });
      if (same == kept.end()) {
        kept.push_back(std::move(work));
        continue;
      }
      ++superseded_;
      if (work.number >= same->number) *same = std::move(work);
    }
    works = std::move(kept);
  }

  // JSON-MIN: a task's data, and each control tag's results as a member of the tag's name, once per annotation.

  struct MinTask {
    Work work;
    LabelStudioPicture texts;
    bool has_annotation = false;  ///< there is an annotation_id, which full exports do not have
  };

  void member_of_min(MinTask& min) {
    const std::string key(json_.key());
    const JsonReader::Type type = json_.peek();
    if (key == "annotator") {
      read_completed_by(min.work);
    } else if (key == "annotation_id") {
      min.has_annotation = true;
      min.work.line = json_.line();
      json_.skip();
    } else if (type == JsonReader::Type::string) {
      if (key == "created_at" || key == "updated_at" || key == "agreement") {
        json_.skip();
      } else {
        min.texts.add(key, json_.string());
      }
    } else if (type == JsonReader::Type::array && key != "drafts" && key != "reviews") {
      json_.begin_array();
      while (json_.next_element()) {
        if (json_.peek() == JsonReader::Type::object) {
          region_of_min(min.work);
        } else {
          json_.skip();
        }
      }
    } else {
      json_.skip();
    }
  }

  /// {"x", "y", "width", "height", "rotation", "rectanglelabels", "original_width", "original_height"}
  void region_of_min(Work& work) {
    Result found;
    static_cast<void>(json_.peek());
    found.box.line = json_.line();
    around_ = {};
    radius_ = {};
    read_value(found);
    if (found.kind.empty()) {
      if (found.side[0])
        context_.leave_shape(builder_.place(found.box.line, "[]", task_index_), "a region without a label");
      return;  // else what another control tag says of the image
    }
    found.type = found.kind;
    found.has_value = true;
    use_result(work, found);
  }

  void finish_min(MinTask& min) {
    if (!min.work.annotator && !context_.options.annotator.empty()) {
      min.work.annotator = RecordId::untyped(context_.options.annotator);
    }
    if (!min.work.annotator) json_.fail_value("expected the member \"annotator\" (who drew), found none");
  }

  void count_predictions() {
    json_.begin_array();
    while (json_.next_object_element()) {
      while (json_.next_member()) {
        if (json_.key() != "result" || json_.peek() != JsonReader::Type::array) {
          json_.skip();
          continue;
        }
        json_.begin_array();
        for (; json_.next_element(); ++predicted_) json_.skip();
      }
    }
  }

  /// Width and height are not Label Studio's, but data may hold any member.
  void read_data(LabelStudioPicture& texts, std::int64_t& width, std::int64_t& height) {
    json_.begin_object();
    while (json_.next_member()) {
      const std::string key(json_.key());
      if (json_.peek() == JsonReader::Type::string) {
        texts.add(key, json_.string());
      } else if ((key == "width" || key == "height") && json_.peek() == JsonReader::Type::number) {
        (key == "width" ? width : height) = json_.integer();
      } else {
        json_.skip();
      }
    }
  }

  Work annotation() {
    Work work;
    static_cast<void>(json_.peek());
    work.line = json_.line();
    bool has_result = false;
    json_.begin_object();
    while (json_.next_member()) {
      const std::string_view key = json_.key();
      if (key == "completed_by") {
        read_completed_by(work);
      } else if (key == "id" && json_.peek() == JsonReader::Type::number) {
        work.number = json_.number();
      } else if (key == "was_cancelled" || key == "ground_truth") {
        const bool cancelled = key == "was_cancelled";
        bool value = false;
        if (json_.peek() == JsonReader::Type::null) {
          json_.null();
        } else {
          value = json_.boolean();
        }
        (cancelled ? work.cancelled : work.truth) = value;
      } else if (key == "result") {
        has_result = true;
        for_each_record(json_, builder_.problems(), [&] { result(work); });
      } else {
        json_.skip();
      }
    }
    if (!has_result) json_.fail_value("expected the member \"result\", found none");
    join_parts(work);
    if (!work.annotator && !context_.options.annotator.empty()) {
      work.annotator = RecordId::untyped(context_.options.annotator);
    }
    if (!work.annotator && !work.cancelled && !work.truth) {
      json_.fail_value("expected the member \"completed_by\" (who drew), found none");
    }
    return work;
  }

  /// Rectangle and Labels: each box takes the label of its region.
  void join_parts(Work& work) {
    std::unordered_map<std::string, std::string> label_of_region;
    std::unordered_set<std::string> drawn;
    for (const DrawnBox& part : work.parts) {
      if (part.has_sides) {
        drawn.insert(part.region);
      } else {
        label_of_region.try_emplace(part.region, part.label);
      }
    }
    for (DrawnBox& part : work.parts) {
      const RecordPlace place = builder_.place(part.line, "[]", task_index_);
      const auto label = label_of_region.find(part.region);
      if (part.has_sides && label != label_of_region.end()) {
        part.label = label->second;
        work.boxes.push_back(std::move(part));
      } else if (part.has_sides) {
        context_.leave_shape(place, "a result of type \"rectangle\" without a label of its own id");
      } else if (drawn.count(part.region) == 0) {
        context_.leave_shape(place, "a result of type \"labels\" without a rectangle of its own id");
      }
    }
    work.parts.clear();
  }

  void read_completed_by(Work& work) {
    const AnnotatorFrom from = context_.options.annotator_from;
    if (from == AnnotatorFrom::file || from == AnnotatorFrom::folder) {  // accounts of one number on two machines
      work.annotator = RecordId::untyped(context_.source_annotator());
      json_.skip();
      return;
    }
    if (json_.peek() == JsonReader::Type::null) {
      json_.null();
      return;
    }
    if (json_.peek() != JsonReader::Type::object) {
      work.annotator = read_id(json_);
      return;
    }
    std::string email, first, last;
    json_.begin_object();
    while (json_.next_member()) {
      const std::string_view key = json_.key();
      if (key == "id") {
        work.annotator = read_id(json_);
      } else if (key == "email") {
        email = read_optional_string(json_);
      } else if (key == "first_name") {
        first = read_optional_string(json_);
      } else if (key == "last_name") {
        last = read_optional_string(json_);
      } else {
        json_.skip();
      }
    }
    work.annotator_name = !email.empty() ? email : first + (first.empty() || last.empty() ? "" : " ") + last;
    if (!work.annotator) {
      if (email.empty()) json_.fail_value("expected \"id\" or \"email\" in completed_by, found neither");
      work.annotator = RecordId::string(email);
      work.annotator_name.clear();
    }
  }

  /// A result as it is read.
  struct Result {
    DrawnBox box;
    std::string type, picture;
    std::string kind;  ///< the member of the value that holds labels: "rectanglelabels"
    bool has_value = false;
    std::vector<std::string> labels;
    std::array<std::optional<double>, 4> side;  // x, y, width, height
  };

  void result(Work& work) {
    Result found;
    static_cast<void>(json_.peek());
    found.box.line = json_.line();
    around_ = {};
    radius_ = {};
    json_.begin_object();
    while (json_.next_member()) {
      const std::string_view key = json_.key();
      if (key == "type") {
        found.type = json_.string();
      } else if (key == "id" && json_.peek() == JsonReader::Type::string) {
        found.box.region = json_.string();
      } else if (key == "original_width") {
        found.box.width = read_optional_integer(json_);
      } else if (key == "original_height") {
        found.box.height = read_optional_integer(json_);
      } else if (key == "to_name" && json_.peek() == JsonReader::Type::string) {
        found.picture.insert(0, json_.string());
      } else if (key == "item_index" && json_.peek() == JsonReader::Type::number) {
        found.picture += "[" + std::to_string(json_.integer()) + "]";
      } else if (key == "image_rotation" && json_.peek() == JsonReader::Type::number) {
        turned_ += json_.number() != 0 ? 1 : 0;
      } else if (key == "value" && json_.peek() == JsonReader::Type::object) {
        found.has_value = true;
        read_value(found);
      } else {
        json_.skip();
      }
    }
    if (found.type.empty()) json_.fail_value("expected the member \"type\", found none");
    use_result(work, found);
  }

  void use_result(Work& work, Result& found) {
    DrawnBox& box = found.box;
    const std::string &type = found.type, &picture = found.picture;
    const std::vector<std::string>& labels = found.labels;
    std::array<std::optional<double>, 4>& side = found.side;
    const RecordPlace place = builder_.place(box.line, "[]", task_index_);
    if (type == "choices" || type == "textarea" || type == "rating" || type == "relation") {  // said, not drawn
      if (type != "relation") {  // of two regions, which are read
        context_.leave_out("result that is no region (" + type + ")", "results that are no regions (" + type + ")");
      }
      builder_.report(ProblemKind::ignored_shape, place,
                      "a result of type " + in_quotes(type) + " is not a labelled box and is left out");
      return;
    }
    if (type == "labels" && !box.region.empty() && !labels.empty()) {
      box.has_sides = false;
      box.label = labels.front();
      if (labels.size() > 1) keeps_first(labels.size(), place);
      work.parts.push_back(std::move(box));
      return;
    }
    const bool bare = type == "rectangle" && !box.region.empty();
    if (type != "rectanglelabels" && !bare) {
      const bool ellipse = type == "ellipselabels" && side[0] && side[1] && radius_[0] && radius_[1];
      const std::string what = "a result of type " + in_quotes(type);
      if ((!ellipse && (type != "polygonlabels" || !around_.box())) || labels.empty()) {
        context_.leave_shape(place, what);
        return;
      }
      if (!context_.takes_shape(place, what)) return;
      const Box drawn =
          ellipse ? Box{*side[0] - *radius_[0], *side[1] - *radius_[1], *side[0] + *radius_[0], *side[1] + *radius_[1]}
                  : *around_.box();
      side = {drawn.x1, drawn.y1, drawn.width(), drawn.height()};
      box.rotation = 0;
    }
    if (picture_.empty()) picture_ = picture;
    if (!picture.empty() && picture != picture_) {
      json_.fail_value("expected all boxes of a task on one picture, found them on " + in_quotes(picture_) + " and " +
                       in_quotes(picture) + "; tasks with several pictures are not read: make a task of each");
    }
    static constexpr const char* names[4] = {"x", "y", "width", "height"};
    for (std::size_t i = 0; i < 4; ++i) {
      if (!found.has_value || !side[i]) {
        json_.fail_value(std::string("expected the number ") + in_quotes(names[i]) + " in value, found none");
      }
    }
    if (labels.empty() && !bare) json_.fail_value("expected a label in rectanglelabels, found none");
    if (labels.size() > 1) keeps_first(labels.size(), place);
    if (box.width <= 0 || box.height <= 0) {
      json_.fail_value("expected original_width and original_height above 0, found " + std::to_string(box.width) +
                       " x " + std::to_string(box.height));
    }
    if (!labels.empty()) box.label = labels.front();
    box.percent = {*side[0], *side[1], *side[0] + *side[2], *side[1] + *side[3]};
    (bare ? work.parts : work.boxes).push_back(std::move(box));
  }

  void keeps_first(std::size_t count, const RecordPlace& place) {
    ++several_labels_;
    builder_.report(ProblemKind::ignored_shape, place,
                    "a box with " + std::to_string(count) + " labels keeps only the first");
  }

  void read_value(Result& found) {
    auto& side = found.side;
    json_.begin_object();
    while (json_.next_member()) {
      const std::string_view key = json_.key();
      if (key == "x") {
        side[0] = json_.number_or_nan();
      } else if (key == "y") {
        side[1] = json_.number_or_nan();
      } else if (key == "width") {
        side[2] = json_.number_or_nan();
      } else if (key == "height") {
        side[3] = json_.number_or_nan();
      } else if (key == "rotation") {
        found.box.rotation = json_.peek() == JsonReader::Type::null ? (json_.null(), 0.0) : json_.number();
      } else if (key == "radiusX" || key == "radiusY") {
        radius_[key == "radiusX" ? 0 : 1] = json_.number_or_nan();
      } else if (key == "points" && json_.peek() == JsonReader::Type::array) {
        read_points();
      } else if (key == "original_width") {  // in JSON-MIN
        found.box.width = read_optional_integer(json_);
      } else if (key == "original_height") {
        found.box.height = read_optional_integer(json_);
      } else if ((key == "rectanglelabels" || key == "polygonlabels" || key == "ellipselabels" || key == "labels") &&
                 json_.peek() == JsonReader::Type::array) {
        found.kind = key;
        json_.begin_array();
        while (json_.next_element()) {
          found.labels.emplace_back(json_.string());
          if (found.labels.back().empty()) json_.fail_value("expected a label, found an empty string");
        }
      } else {
        json_.skip();
      }
    }
  }

  /// [[x, y], ...]
  void read_points() {
    json_.begin_array();
    while (json_.next_element()) {
      std::vector<double> point;
      read_numbers(json_, point, 2);
      if (point.size() == 2) around_.add(point[0], point[1]);
    }
  }

  void use(const Work& work, std::int32_t image) {
    if (work.cancelled) return;
    const RecordPlace place = builder_.place(work.line, "[]", task_index_);
    const bool truth = work.truth || builder_.role() == BoxRole::truth;
    std::int32_t annotator = 0;
    if (truth) {
      builder_.has_truth();
      builder_.truth_covers(image);
    } else {
      annotator = builder_.mention_annotator(*work.annotator, work.annotator_name, place);
      builder_.add_assignment(image, annotator, place);
    }
    for (const DrawnBox& drawn : work.boxes) {
      const RecordPlace where = builder_.place(drawn.line, "[]", task_index_);
      const double x = static_cast<double>(drawn.width) / 100, y = static_cast<double>(drawn.height) / 100;
      Box box{drawn.percent.x1 * x, drawn.percent.y1 * y, drawn.percent.x2 * x, drawn.percent.y2 * y};
      box = context_.upright(box, box.x1, box.y1, drawn.rotation, where);
      builder_.set_image_size(image, drawn.width, drawn.height, where);
      const std::int32_t label = builder_.mention_class(RecordId::string(drawn.label), drawn.label, where);
      if (truth) {
        builder_.add_truth(image, label, box, false, -1, where);
      } else {
        builder_.add_box(image, label, annotator, box, where);
      }
    }
  }

  JsonReader& json_;
  ReadContext& context_;
  CrowdBuilder& builder_;
  std::size_t task_index_ = 0;
  std::size_t predicted_ = 0, works_ = 0;  ///< boxes of predictions, and annotations, in the file
  std::size_t superseded_ = 0, drafts_ = 0, turned_ = 0, guessed_pictures_ = 0;
  std::size_t several_labels_ = 0;               ///< boxes that have more than one
  std::string picture_;                          ///< what the boxes of this task are on: "to_name[item_index]"
  BoxAround around_;                             ///< of the polygon being read
  std::array<std::optional<double>, 2> radius_;  ///< of the ellipse being read
};

void parse_label_studio(std::istream& in, const std::string& name, ReadContext& context) {
  JsonReader json(in, name);
  LabelStudioReader(json, context).read();
}

void read_label_studio(const std::string& path, ReadContext& context) {
  read_one_file(path, context, parse_label_studio);
}

/// Whether a list of annotations holds what Label Studio puts there.
bool has_results(JsonReader& json) {
  if (json.peek() != JsonReader::Type::array) return json.skip(), false;
  json.begin_array();
  while (json.next_object_element()) {
    while (json.next_member()) {
      if (json.key() == "result" || json.key() == "completed_by") return true;
      json.skip();
    }
  }
  return false;
}

bool looks_like_label_studio(const std::string& path) {
  return probe_json(path, [](JsonReader& json) {
    if (!begin_list_of_objects(json)) return false;
    while (json.next_member()) {
      if (json.key() == "data" || json.key() == "completions" || json.key() == "annotation_id") return true;
      if (json.key() == "annotations") {
        if (has_results(json)) return true;
        continue;
      }
      if (json.key() == "category_id" || json.key() == "bbox") return false;
      json.skip();
    }
    return false;
  });
}

/// The number under which Label Studio knows a thing: its own id when all have integers, otherwise 1, 2, ...
template <class Record>
std::vector<std::int64_t> numbers_of(const std::vector<Record>& records, std::size_t& changed) {
  std::vector<std::int64_t> numbers;
  changed = static_cast<std::size_t>(
      std::count_if(records.begin(), records.end(), [](const Record& r) { return !r.id.is_integer; }));
  for (std::size_t n = 0; n < records.size(); ++n) {
    numbers.push_back(changed == 0 ? RecordId::from(records[n].id).value : static_cast<std::int64_t>(n) + 1);
  }
  if (changed != 0) changed = records.size();
  return numbers;
}

class LabelStudioWriter {
 public:
  LabelStudioWriter(const CrowdData& data, JsonWriter& json) : data_(data), json_(json) {}
  std::size_t changed_images = 0, changed_annotators = 0, sizeless = 0;
  std::vector<std::int32_t> class_order;  ///< as a reader will meet them

  void write() {
    images_ = numbers_of(data_.images, changed_images);
    annotators_ = numbers_of(data_.annotators, changed_annotators);
    met_.assign(data_.classes.size(), 0);
    json_.begin_array();
    for (std::size_t i = 0; i < data_.images.size(); ++i) task(i);
    json_.new_line().end_array();
  }

 private:
  void task(std::size_t i) {
    const ImageRecord& image = data_.images[i];
    json_.new_line().begin_object().key("id").integer(images_[i]);
    json_.key("data").begin_object();
    if (!image.file.empty()) json_.key("image").string(image.file);
    if (image.width > 0) json_.key("width").integer(image.width).key("height").integer(image.height);
    json_.end_object();
    json_.key("annotations").begin_array();
    for_each_assignment(data_, i, [&](std::int32_t annotator, const std::vector<std::size_t>& rows) {
      const auto k = static_cast<std::size_t>(annotator);
      const AnnotatorRecord& record = data_.annotators[k];
      begin_annotation(false);
      const std::string& email = record.name.empty() && !record.id.is_integer ? record.id.text : record.name;
      if (email.empty()) {
        json_.key("completed_by").integer(annotators_[k]);
      } else {
        json_.key("completed_by").begin_object().key("id").integer(annotators_[k]);
        json_.key("email").string(email).end_object();
      }
      json_.key("result").begin_array();
      for (const std::size_t n : rows) result(image, data_.annotations[n].box, data_.annotations[n].label);
      json_.end_array().end_object();
    });
    if (data_.has_truth && data_.truth_covers[i] != 0) {
      begin_annotation(true);
      json_.key("result").begin_array();
      for (std::size_t n = data_.truth_begin[i]; n < data_.truth_begin[i + 1]; ++n) {
        result(image, data_.truth[n].box, data_.truth[n].label);
      }
      json_.end_array().end_object();
    }
    json_.end_array().end_object();
  }

  void begin_annotation(bool truth) {
    json_.new_line().begin_object().key("id").integer(++next_annotation_);
    json_.key("was_cancelled").boolean(false).key("ground_truth").boolean(truth);
  }

  void result(const ImageRecord& image, const Box& box, std::int32_t label) {
    if (image.width == 0) {
      ++sizeless;
      return;
    }
    if (met_[static_cast<std::size_t>(label)] == 0) class_order.push_back(label);
    met_[static_cast<std::size_t>(label)] = 1;
    const double x = 100.0 / image.width, y = 100.0 / image.height;
    json_.begin_object().key("id").string("r" + std::to_string(++next_result_)).key("type").string("rectanglelabels");
    json_.key("from_name").string("label").key("to_name").string("image");
    json_.key("original_width").integer(image.width).key("original_height").integer(image.height);
    json_.key("value").begin_object();
    json_.key("x").number(box.x1 * x).key("y").number(box.y1 * y);
    json_.key("width").number(box.width() * x).key("height").number(box.height() * y).key("rotation").integer(0);
    json_.key("rectanglelabels").begin_array().string(data_.classes[static_cast<std::size_t>(label)].name).end_array();
    json_.end_object().end_object();
  }

  const CrowdData& data_;
  JsonWriter& json_;
  std::vector<std::int64_t> images_, annotators_;
  std::vector<char> met_;
  std::int64_t next_annotation_ = 0, next_result_ = 0;
};

void write_label_studio(const CrowdData& data, const std::string& path, WriteReport& report) {
  require_distinct_class_names(data, "label-studio");
  AtomicFile file(path);
  {
    JsonWriter json(file.stream());
    LabelStudioWriter writer(data, json);
    writer.write();
    add_loss(report, "image ids (tasks are numbered anew)", writer.changed_images);
    add_loss(report, "annotator ids (annotators are numbered anew)", writer.changed_annotators);
    add_loss(report, "boxes of images without a size", writer.sizeless);
    add_loss(report, "classes without boxes", data.classes.size() - writer.class_order.size());
    std::size_t changed = 0;
    for (std::size_t n = 0; n < writer.class_order.size(); ++n) {
      const ExternalId& id = data.classes[static_cast<std::size_t>(writer.class_order[n])].id;
      if (!id.is_integer || id.text != std::to_string(n + 1)) ++changed;
    }
    add_loss(report, "class ids (classes are numbered anew)", changed);
  }
  add_guessed_assignment_loss(data, report);
  add_annotator_losses(data, true, false, report);
  std::size_t crowds = 0, areas = 0;
  for (const TruthBox& t : data.truth) {
    crowds += t.is_crowd ? 1 : 0;
    areas += t.area != t.box.area() ? 1 : 0;
  }
  add_loss(report, "true boxes marked iscrowd (the mark)", crowds);
  add_loss(report, "areas of true boxes (the box's own area takes their place)", areas);
  file.stream() << '\n';
  file.commit();
}

}  // namespace

CrowdFormat label_studio_format() {
  return {"label-studio",          "Label Studio's JSON export",
          looks_like_label_studio, parse_label_studio,
          read_label_studio,       number_classes,
          write_label_studio,      true};
}

}  // namespace bdc
