// Datumaro's JSON: {"categories": {"label": {"labels": [{"name"}]}}, "items": [{"id", "annotations", "image"}]}. A file
// holds the boxes of one annotator, who saw all its items; classes are numbers into the list of labels.
#include <filesystem>

#include "base/files.h"
#include "bdc/base/atomic_file.h"
#include "bdc/base/error.h"
#include "bdc/base/json_stream.h"
#include "bdc/base/text.h"
#include "crowd/box_around.h"
#include "crowd/coco_record.h"
#include "crowd/folder_dataset.h"
#include "crowd/format.h"
#include "crowd/item_writers.h"
#include "crowd/json_records.h"
#include "crowd/label_tree.h"
#include "crowd/person_members.h"

namespace bdc {
namespace {

struct Drawn {
  Box box;
  std::optional<RecordId> annotator;
  std::int64_t label = -1;
  RecordPlace place;
};

class DatumaroReader {
 public:
  DatumaroReader(JsonReader& json, ReadContext& context) : json_(json), context_(context), builder_(context.builder) {}

  void read() {
    builder_.begin_file(json_.name());
    const ReadOptions& options = context_.options;
    by_key_ = !options.annotator_key.empty() && builder_.role() == BoxRole::crowd;
    record_.annotator_key = options.annotator_key;
    record_.wants_candidates = !by_key_ && builder_.role() == BoxRole::crowd && options.annotator.empty();
    if (!by_key_) {  // else who saw an image and drew nothing there is not known
      annotator_ = builder_.mention_annotator(RecordId::untyped(context_.dataset_annotator(json_.name())), "",
                                              builder_.place(0));
      builder_.assignments_are_known();
    }
    bool has_items = false, has_labels = false;
    json_.begin_object();
    while (json_.next_member()) {
      if (json_.key() == "items") {
        has_items = true;
        for_each_record(json_, builder_.problems(), [this] { item(); });
      } else if (json_.key() == "categories") {
        json_.begin_object();
        while (json_.next_member()) {
          if (json_.key() != "label") {
            json_.skip();
            continue;
          }
          has_labels = true;
          labels();
        }
      } else {
        json_.skip();
      }
    }
    json_.finish();
    persons_.tell(json_.name(), "annotation", context_);
    if (unlabelled_ > 0) {
      context_.note(json_.name() + ": " + counted(unlabelled_, "annotation") + " without a label " +
                    (unlabelled_ == 1 ? "is" : "are") + " left out");
    }
    if (!has_items || !has_labels) {
      json_.fail_value(std::string("expected ") + (has_items ? "categories.label" : "items") + ", found none");
    }
  }

 private:
  void labels() {
    json_.begin_object();
    while (json_.next_member()) {
      if (json_.key() != "labels") {
        json_.skip();
        continue;
      }
      json_.begin_array();
      for (std::int64_t number = 0; json_.next_element(); ++number) {
        static_cast<void>(json_.peek());
        const RecordPlace place = builder_.place(json_.line(), "labels", json_.index());
        std::string name;
        json_.begin_object();
        while (json_.next_member()) {
          if (json_.key() == "name") {
            name = read_optional_string(json_);
          } else {
            json_.skip();
          }
        }
        if (name.empty()) json_.fail_value("expected the member \"name\", found none");
        builder_.define_class(RecordId::integer(number), name, place);
      }
    }
  }

  void item() {
    static_cast<void>(json_.peek());
    const RecordPlace place = builder_.place(json_.line(), "items", json_.index());
    std::string id, file;
    std::int64_t width = 0, height = 0;
    std::vector<Drawn> drawn;
    json_.begin_object();
    while (json_.next_member()) {
      const std::string_view key = json_.key();
      if (key == "id") {
        id = read_optional_string(json_);
      } else if (key == "annotations") {
        for_each_record(json_, builder_.problems(), [&] { annotation(drawn); });
      } else if ((key == "image" || key == "media") && json_.peek() == JsonReader::Type::object) {
        json_.begin_object();
        while (json_.next_member()) {
          if (json_.key() == "path") {
            file = read_optional_string(json_);
          } else if (json_.key() == "size" && json_.peek() == JsonReader::Type::array) {
            std::vector<double> size;  // height, width
            read_numbers(json_, size, 4);
            if (size.size() >= 2 && size[0] >= 0 && size[1] >= 0 && size[0] < 1e9 && size[1] < 1e9) {
              height = static_cast<std::int64_t>(size[0]);
              width = static_cast<std::int64_t>(size[1]);
            }
          } else {
            json_.skip();
          }
        }
      } else {
        json_.skip();
      }
    }
    if (id.empty()) json_.fail_value("expected the member \"id\", found none");
    const std::int32_t image = builder_.mention_image(RecordId::string(id), file, place);
    builder_.set_image_size(image, width, height, place);
    if (!by_key_) builder_.add_assignment(image, annotator_, place);
    for (const Drawn& one : drawn) {
      const std::int32_t annotator =
          one.annotator ? builder_.mention_annotator(*one.annotator, "", one.place) : annotator_;
      builder_.add_box(image, builder_.label(RecordId::integer(one.label), "label_id", one.place), annotator, one.box,
                       one.place);
    }
  }

  void annotation(std::vector<Drawn>& out) {
    static_cast<void>(json_.peek());
    Drawn drawn;
    drawn.place = builder_.place(json_.line(), "annotations", json_.index());
    record_.annotator_id.reset();
    record_.persons.clear();
    record_.rotation = 0;
    std::string type;
    std::vector<double> numbers, points;
    json_.begin_object();
    while (json_.next_member()) {
      const std::string_view key = json_.key();
      if (key == "type") {
        type = read_optional_string(json_);
      } else if (key == "label_id") {
        drawn.label = json_.peek() == JsonReader::Type::null ? (json_.null(), -1) : json_.integer();
      } else if (key == "bbox") {
        read_numbers(json_, numbers, 4);
      } else if (key == "points") {
        read_numbers(json_, points, 1000000);
      } else if (key == "attributes" && json_.peek() == JsonReader::Type::object) {
        read_attributes(json_, record_);
      } else if (by_key_ && key == record_.annotator_key) {
        record_.annotator_id = read_optional_id(json_);
      } else {
        json_.skip();
      }
    }
    if (type == "label" || type == "caption") {  // said of the image, not drawn
      context_.leave_out("label of a whole image", "labels of whole images");
      return;
    }
    persons_.add(record_.persons);
    if (drawn.label < 0) {
      ++unlabelled_;
      builder_.report(ProblemKind::ignored_shape, drawn.place, "an annotation without a label is left out");
      return;
    }
    if (by_key_ && !record_.annotator_id) {
      json_.fail_value("expected the member " + in_quotes(record_.annotator_key) + " with the annotator, found none");
    }
    drawn.annotator = record_.annotator_id;
    if (type == "bbox") {
      if (numbers.size() != 4) {
        json_.fail_value("expected a bbox of 4 numbers [x, y, width, height], found " + std::to_string(numbers.size()));
      }
      drawn.box = {numbers[0], numbers[1], numbers[0] + numbers[2], numbers[1] + numbers[3]};
      drawn.box = context_.upright(drawn.box, record_.rotation, drawn.place);
      out.push_back(drawn);
      return;
    }
    BoxAround around;
    for (std::size_t n = 0; n + 1 < points.size(); n += 2) around.add(points[n], points[n + 1]);
    const std::string what = "an annotation of type " + in_quotes(type);
    const bool is_area = type == "polygon" || type == "polyline";
    if (!is_area || !around.box()) {
      context_.leave_shape(drawn.place, what);
    } else if (context_.takes_shape(drawn.place, what)) {
      drawn.box = *around.box();
      out.push_back(drawn);
    }
  }

  JsonReader& json_;
  ReadContext& context_;
  CrowdBuilder& builder_;
  std::int32_t annotator_ = 0;
  bool by_key_ = false;  ///< each annotation names its annotator
  CocoRecord record_;    ///< of the annotation being read: what its attributes say
  PersonMembers persons_;
  std::size_t unlabelled_ = 0;
};

void parse_datumaro(std::istream& in, const std::string& name, ReadContext& context) {
  JsonReader json(in, name);
  DatumaroReader(json, context).read();
}

/// An object with "categories" as an object, or "items" as a list.
bool is_datumaro_file(const std::string& path) {
  return probe_json(path, [](JsonReader& json) {
    if (json.peek() != JsonReader::Type::object) return false;
    json.begin_object();
    while (json.next_member()) {
      if (json.key() == "categories" && json.peek() == JsonReader::Type::object) return true;
      if (json.key() == "items" && json.peek() == JsonReader::Type::array) return true;
      if (json.key() == "images" || json.key() == "annotations") return false;
      json.skip();
    }
    return false;
  });
}

std::vector<std::string> label_files(const std::string& folder) {
  std::vector<std::string> out;
  for (std::string& file : files_below(folder, {".json"})) {
    if (is_datumaro_file(file)) out.push_back(std::move(file));
  }
  return out;
}

void read_datumaro(const std::string& path, ReadContext& context) {
  // Files number their classes each on its own; images are the same when their ids are.
  if (is_folder(path)) context.builder.files_have_own_ids(false, true);
  read_each_of(path, context, label_files, parse_datumaro);
}

/// A data set's folder has annotations/; otherwise only files are recognised.
bool looks_like_datumaro(const std::string& path) {
  if (!is_folder(path)) return is_datumaro_file(path);
  const std::vector<std::string> files = files_below(path, {".json"});
  return !files.empty() && folder_name(std::filesystem::path(files.front()).parent_path().string()) == "annotations" &&
         is_datumaro_file(files.front());
}

/// A data set per annotator: DIR/<annotator>/annotations/default.json.
void write_datumaro(const CrowdData& data, const std::string& path, WriteReport& report) {
  require_distinct_class_names(data, "datumaro");
  const std::vector<std::string> names = item_names(data);
  AtomicFolder folder(path);
  const bool any = write_by_annotator(data, folder.path(), [&](const std::string& own, const auto& images) {
    make_folder(join(own, "annotations"));
    DatumaroItems items(join(join(own, "annotations"), "default.json"), data);
    for (const auto& [i, rows] : images) {
      items.begin_image(names[i]);
      for (const std::size_t n : rows) items.box(data.annotations[n].box, data.annotations[n].label, std::nullopt);
      items.end_image(data.images[i]);
    }
    items.finish();
  });
  std::size_t renamed = 0;
  for (std::size_t i = 0; i < names.size(); ++i) {
    renamed += data.images[i].id.is_integer || data.images[i].id.text != names[i] ? 1 : 0;
  }
  if (!any) add_loss(report, "classes without boxes", data.classes.size());
  add_loss(report, "image ids (images are known by their names)", renamed);
  add_unseen_image_loss(data, report);
  add_folder_name_loss(data, report);
  add_annotator_folder_losses(data, 0, false, report);
  folder.commit();
}

}  // namespace

CrowdFormat datumaro_format() {
  CrowdFormat row = {"datumaro",
                     "Datumaro's JSON, one file or data set per annotator",
                     looks_like_datumaro,
                     parse_datumaro,
                     read_datumaro,
                     nullptr,
                     write_datumaro,
                     false,
                     true};
  row.takes.annotator_key = row.takes.from_key = true;
  return row;
}

}  // namespace bdc
