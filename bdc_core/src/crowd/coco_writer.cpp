#include "crowd/coco_writer.h"

#include "crowd/coco_record.h"

namespace bdc {
namespace {

/// An object with what annotations and true boxes share; it is left open.
template <class Record>
void begin_box_record(JsonWriter& json, const CrowdData& data, std::int64_t id, const Record& record) {
  json.new_line().begin_object().key("id").integer(id).key("image_id");
  write_id(json, data.images[static_cast<std::size_t>(record.image)].id);
  json.key("category_id");
  write_id(json, data.classes[static_cast<std::size_t>(record.label)].id);
  write_bbox(json, record.box);
}

}  // namespace

void write_coco_images(JsonWriter& json, const CrowdData& data) {
  json.key("info").begin_object().key("written_by").string("bdc").end_object();  // tells ours from people's files
  json.new_line().key("images").begin_array();
  for (const ImageRecord& image : data.images) {
    json.new_line().begin_object().key("id");
    write_id(json, image.id);
    if (!image.file.empty()) json.key("file_name").string(image.file);
    if (image.width > 0) json.key("width").integer(image.width).key("height").integer(image.height);
    json.end_object();
  }
  json.new_line().end_array();
}

void write_coco_categories(JsonWriter& json, const CrowdData& data) {
  json.new_line().key("categories").begin_array();
  for (const ClassRecord& record : data.classes) {
    json.new_line().begin_object().key("id");
    write_id(json, record.id);
    json.key("name").string(record.name).end_object();
  }
  json.new_line().end_array();
}

void write_coco_annotations(JsonWriter& json, const CrowdData& data, bool with_annotator) {
  json.new_line().key("annotations").begin_array();
  std::int64_t id = 0;
  for (const Annotation& a : data.annotations) {
    begin_box_record(json, data, ++id, a);
    json.key("area").number(a.box.area()).key("iscrowd").integer(0);
    if (with_annotator) {
      json.key("annotator_id");
      write_id(json, data.annotators[static_cast<std::size_t>(a.annotator)].id);
    }
    json.end_object();
  }
  json.new_line().end_array();
}

void write_coco_truth_boxes(JsonWriter& json, const CrowdData& data, const char* key) {
  json.new_line().key(key).begin_array();
  std::int64_t id = 0;
  for (const TruthBox& t : data.truth) {
    begin_box_record(json, data, ++id, t);
    json.key("area").number(t.area).key("iscrowd").integer(t.is_crowd ? 1 : 0).end_object();
  }
  json.new_line().end_array();
}

}  // namespace bdc
