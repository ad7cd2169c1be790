// FiftyOne's JSON in two forms. A FiftyOneImageDetectionDataset has labels.json with {"classes": [...], "labels":
// {"name": [{"label", "bounding_box"}] or null}}; a FiftyOneDataset has samples.json with the samples and their fields.
// Boxes are shares of the image: left, top, width, height. A field with boxes is one annotator's; boxes with a
// confidence are a detector's and are left out. Null, where boxes should be, says that nobody looked.
#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>

#include "base/files.h"
#include "bdc/base/atomic_file.h"
#include "bdc/base/error.h"
#include "bdc/base/json_stream.h"
#include "bdc/base/text.h"
#include "crowd/coco_record.h"
#include "crowd/folder_dataset.h"
#include "crowd/format.h"
#include "crowd/item_writers.h"
#include "crowd/json_records.h"
#include "crowd/label_tree.h"

namespace bdc {
namespace {

struct Detection {
  std::string label;
  std::int64_t class_number = -1;
  std::array<double, 4> share{};  ///< left, top, width, height
  bool has_confidence = false;
  std::map<std::string, RecordId> persons;  ///< members that may name who drew
  RecordPlace place;
};

struct Sample {
  std::string name;  ///< with the extension where the file says it
  bool is_file = false;
  std::int64_t width = 0, height = 0;
  std::map<std::string, std::vector<Detection>> fields;
  RecordPlace place;
};

class FiftyOneReader {
 public:
  FiftyOneReader(JsonReader& json, ReadContext& context) : json_(json), context_(context), builder_(context.builder) {}

  void read() {
    builder_.begin_file(json_.name());
    bool found = false;
    json_.begin_object();
    while (json_.next_member()) {
      const std::string_view key = json_.key();
      if (key == "samples" && json_.peek() == JsonReader::Type::array) {
        found = true;
        for_each_record(json_, builder_.problems(), [this] { sample(); });
      } else if (key == "labels" && json_.peek() == JsonReader::Type::object) {
        found = true;
        labels();
      } else if (key == "classes" && json_.peek() == JsonReader::Type::array) {
        json_.begin_array();
        while (json_.next_element()) classes_.emplace_back(json_.string());
      } else {
        json_.skip();
      }
    }
    json_.finish();
    if (!found) json_.fail_value("expected the member \"labels\" or \"samples\", found neither");
    use_all();
  }

 private:
  void labels() {
    json_.begin_object();
    const std::size_t depth = json_.depth();
    while (json_.next_member()) {
      Sample sample;
      sample.name = json_.key();
      if (json_.peek() == JsonReader::Type::null) {
        json_.null();
        ++unlabelled_;
        continue;
      }
      sample.place = builder_.place(json_.line());
      try {
        sample.fields[""] = detections();
        samples_.push_back(std::move(sample));
      } catch (const JsonValueError& error) {
        if (builder_.problems().strict()) throw;
        builder_.problems().report(ProblemKind::bad_record, [&] { return std::string(error.what()); });
        json_.recover(depth);
      }
    }
  }

  void sample() {
    Sample sample;
    static_cast<void>(json_.peek());
    sample.place = builder_.place(json_.line(), "samples", json_.index());
    sample.is_file = true;
    json_.begin_object();
    while (json_.next_member()) {
      const std::string key(json_.key());
      if (key == "filepath") {
        sample.name = read_optional_string(json_);
      } else if (json_.peek() != JsonReader::Type::object) {
        json_.skip();
      } else if (key == "metadata") {
        json_.begin_object();
        while (json_.next_member()) {
          const bool width = json_.key() == "width";
          if (width || json_.key() == "height") {
            (width ? sample.width : sample.height) = read_optional_integer(json_);
          } else {
            json_.skip();
          }
        }
      } else {
        field(key, sample);
      }
    }
    if (sample.name.empty()) json_.fail_value("expected the member \"filepath\", found none");
    samples_.push_back(std::move(sample));
  }

  /// {"_cls": "Detections", "detections": [...]}; fields of other kinds hold no boxes.
  void field(const std::string& name, Sample& sample) {
    json_.begin_object();
    while (json_.next_member()) {
      if (json_.key() == "detections" && json_.peek() == JsonReader::Type::array) {
        sample.fields[name] = detections();
      } else if (json_.key() == "polylines" && json_.peek() == JsonReader::Type::array) {
        const RecordPlace place = sample.place;
        json_.begin_array();
        for (; json_.next_element(); json_.skip()) context_.leave_shape(place, "a polyline");
      } else {
        json_.skip();
      }
    }
  }

  std::vector<Detection> detections() {
    std::vector<Detection> out;
    for_each_record(json_, builder_.problems(), [&] { out.push_back(detection()); });
    return out;
  }

  Detection detection() {
    Detection found;
    static_cast<void>(json_.peek());
    found.place = builder_.place(json_.line(), "detections", json_.index());
    std::vector<double> numbers;
    bool has_box = false;
    json_.begin_object();
    while (json_.next_member()) {
      const std::string_view key = json_.key();
      if (key == "label") {
        if (json_.peek() == JsonReader::Type::number) {
          found.class_number = json_.integer();
        } else {
          found.label = read_optional_string(json_);
        }
      } else if (key == "bounding_box") {
        has_box = true;
        read_numbers(json_, numbers, 4);
      } else if (key == "confidence") {
        found.has_confidence = json_.peek() == JsonReader::Type::number;
        json_.skip();
      } else if (key == "attributes" && json_.peek() == JsonReader::Type::object) {
        json_.begin_object();
        while (json_.next_member()) person(found);
      } else {
        person(found);
      }
    }
    if (!has_box || numbers.size() != 4) {
      json_.fail_value("expected a bounding_box of 4 numbers [left, top, width, height], found " +
                       std::to_string(numbers.size()));
    }
    if (found.label.empty() && found.class_number < 0) json_.fail_value("expected the member \"label\", found none");
    std::copy(numbers.begin(), numbers.end(), found.share.begin());
    return found;
  }

  /// A member that may name who drew: "annotator": "ann", or {"_cls": ..., "value": "ann"}.
  void person(Detection& found) {
    const std::string key(json_.key());
    const std::string& wanted = context_.options.annotator_key;
    if (wanted.empty() ? !resembles_annotator_id(key) : key != wanted) {
      json_.skip();
      return;
    }
    std::optional<RecordId> id;
    if (json_.peek() == JsonReader::Type::object) {
      json_.begin_object();
      while (json_.next_member()) {
        if (json_.key() == "value") {
          id = read_optional_id(json_);
        } else {
          json_.skip();
        }
      }
    } else {
      id = read_optional_id(json_);
    }
    if (id) found.persons.emplace(key, *id);
  }

  /// A field whose boxes all have a confidence is a detector's.
  void leave_detectors() {
    std::map<std::string, std::pair<std::size_t, std::size_t>> count;  // with a confidence, all
    for (const Sample& sample : samples_) {
      for (const auto& [name, list] : sample.fields) {
        auto& [sure, all] = count[name];
        all += list.size();
        for (const Detection& one : list) sure += one.has_confidence ? 1 : 0;
      }
    }
    for (const auto& [name, counts] : count) {
      if (counts.second == 0 || counts.first < counts.second) continue;
      if (name.empty()) {  // labels.json is all there is
        context_.note(json_.name() + ": all boxes have a confidence; if a detector drew them, they are no annotator's");
        continue;
      }
      for (Sample& sample : samples_) sample.fields.erase(name);
      context_.note(json_.name() + ": " + counted(counts.second, "box", "boxes") + " of the field " + in_quotes(name) +
                    " left out: they have a confidence, so a detector drew them");
    }
  }

  std::string person_member() {
    std::set<std::string> keys;
    std::size_t boxes = 0;
    for (const Sample& sample : samples_) {
      for (const auto& [name, list] : sample.fields) {
        for (const Detection& one : list) {
          ++boxes;
          for (const auto& [key, id] : one.persons) keys.insert(key);
        }
      }
    }
    const std::string& wanted = context_.options.annotator_key;
    if (!wanted.empty() && keys.empty() && boxes > 0) {
      throw DataError(json_.name() + ": expected the member " + in_quotes(wanted) + " of --annotator-key, found none");
    }
    if (keys.empty() || !context_.options.annotator.empty()) return {};
    if (wanted.empty() && context_.options.annotator_from != AnnotatorFrom::automatic) return {};
    if (keys.size() > 1) {
      throw DataError(json_.name() + ": several members may say who drew (" +
                      printable(join({keys.begin(), keys.end()})) + "); name the one that does with --annotator-key");
    }
    if (wanted.empty()) context_.note(json_.name() + ": the member " + in_quotes(*keys.begin()) + " says who drew");
    return *keys.begin();
  }

  void use_all() {
    for (const std::string& name : classes_) builder_.mention_class(RecordId::string(name), name, {});
    const bool had_fields =
        std::any_of(samples_.begin(), samples_.end(), [](const Sample& sample) { return !sample.fields.empty(); });
    leave_detectors();
    std::set<std::string> fields;
    for (const Sample& sample : samples_) {
      for (const auto& [name, list] : sample.fields) fields.insert(name);
    }
    if (fields.empty() && had_fields) {
      throw DataError(json_.name() + ": expected boxes that people drew, found a detector's alone");
    }
    const std::string member = person_member();
    const bool by_field = context_.options.annotator_from == AnnotatorFrom::key && member.empty();
    if (fields.size() > 1 && !by_field) {
      throw DataError(json_.name() + ": several fields hold boxes (" + printable(join({fields.begin(), fields.end()})) +
                      "); --annotator-from key takes each for an annotator, otherwise export one of them");
    }
    if (member.empty()) builder_.assignments_are_known();
    for (const Sample& sample : samples_) {
      for (const auto& [name, list] : sample.fields) use(sample, name, list, member, by_field);
      unlabelled_ += sample.fields.empty() ? 1 : 0;
    }
    if (unlabelled_ > 0) {
      context_.note(json_.name() + ": " + counted(unlabelled_, "image") + " without labels left out: nobody looked");
    }
  }

  std::int32_t image_of_sample(const Sample& sample) {
    std::int32_t image = 0;
    if (sample.is_file) {
      image = builder_.mention_image(RecordId::string(sample.name), sample.name, sample.place);
      builder_.set_image_size(image, sample.width, sample.height, sample.place);
    } else {
      const std::string beside = join(join(folder_, "data"), sample.name);
      const std::string picture = context_.pictures.beside(beside + ".jpg");
      image = image_of(context_, sample.name, picture.empty() ? "" : sample.name + picture.substr(picture.rfind('.')),
                       sample.place);
      if (const auto size = picture.empty() || builder_.has_size(image) ? std::nullopt : Pictures::size_of(picture)) {
        builder_.set_image_size(image, size->first, size->second, sample.place);
      }
    }
    if (!builder_.has_size(image)) {
      const auto [width, height] = known_size(context_, sample.name);
      if (width > 0) builder_.set_image_size(image, width, height, sample.place);
    }
    return image;
  }

  void use(const Sample& sample, const std::string& field, const std::vector<Detection>& list,
           const std::string& member, bool by_field) {
    const std::int32_t image = image_of_sample(sample);
    std::int32_t annotator = -1;
    if (member.empty()) {
      const std::string who = by_field && !field.empty() ? field : context_.dataset_annotator(json_.name());
      annotator = builder_.mention_annotator(RecordId::untyped(who), "", sample.place);
      builder_.add_assignment(image, annotator, sample.place);
    }
    const auto [width, height] = builder_.size(image);
    for (const Detection& one : list) {
      if (width == 0) {
        builder_.report(ProblemKind::bad_record, one.place,
                        "the size of image " + in_quotes(sample.name) +
                            " is unknown, and the numbers are shares of it; expected metadata, the picture in data/, "
                            "--sizes FILE or --image-folder DIR");
        continue;
      }
      std::int32_t drawer = annotator;
      if (!member.empty()) {
        const auto found = one.persons.find(member);
        if (found == one.persons.end()) {
          builder_.report(ProblemKind::bad_record, one.place,
                          "expected the member " + in_quotes(member) + " (who drew), found none");
          continue;
        }
        drawer = builder_.mention_annotator(found->second, "", one.place);
      }
      const bool numbered = one.class_number >= 0;
      if (numbered && static_cast<std::size_t>(one.class_number) >= classes_.size()) {
        builder_.report(ProblemKind::unknown_class, one.place,
                        "label " + std::to_string(one.class_number) + " is not in the list of classes (" +
                            std::to_string(classes_.size()) + " known)");
        continue;
      }
      const std::string& label = numbered ? classes_[static_cast<std::size_t>(one.class_number)] : one.label;
      const double x = one.share[0] * width, y = one.share[1] * height;
      builder_.add_box(image, builder_.mention_class(RecordId::string(label), label, one.place), drawer,
                       {x, y, x + one.share[2] * width, y + one.share[3] * height}, one.place);
    }
  }

  JsonReader& json_;
  ReadContext& context_;
  CrowdBuilder& builder_;
  std::string folder_ = folder_of(json_.name());
  std::vector<std::string> classes_;
  std::vector<Sample> samples_;
  std::size_t unlabelled_ = 0;

  static std::string folder_of(const std::string& path) {
    const std::size_t slash = path.rfind('/');
    return slash == std::string::npos ? "." : path.substr(0, slash);
  }
};

void parse_fiftyone(std::istream& in, const std::string& name, ReadContext& context) {
  JsonReader json(in, name);
  FiftyOneReader(json, context).read();
}

bool is_fiftyone_file(const std::string& path) {
  return probe_json(path, [](JsonReader& json) {
    if (json.peek() != JsonReader::Type::object) return false;
    json.begin_object();
    bool classes = false;
    while (json.next_member()) {
      if (is_coco_list(json)) return false;
      if (json.key() == "samples" && json.peek() == JsonReader::Type::array) {
        if (!begin_list_of_objects(json)) return false;
        while (json.next_member()) {
          if (json.key() == "filepath") return true;
          json.skip();
        }
        return false;
      }
      if (json.key() == "classes" && json.peek() == JsonReader::Type::array) {
        classes = true;
      } else if (json.key() == "labels" && json.peek() == JsonReader::Type::object) {
        if (classes) return true;
        json.begin_object();
        while (json.next_member()) {
          if (json.peek() == JsonReader::Type::null) {
            json.null();
            continue;
          }
          if (json.peek() != JsonReader::Type::array) return false;
          json.begin_array();
          if (!json.next_element()) continue;
          if (json.peek() != JsonReader::Type::object) return false;
          json.begin_object();
          while (json.next_member()) {
            if (json.key() == "bounding_box") return true;
            json.skip();
          }
          return false;
        }
        return false;
      }
      json.skip();
    }
    return false;
  });
}

/// The files of a folder that hold labels.
std::vector<std::string> label_files(const std::string& folder) {
  std::vector<std::string> out;
  for (std::string& file : files_below(folder, {".json"})) {
    const std::string stem = file_stem(file);
    if (stem == "labels" || stem == "samples") out.push_back(std::move(file));
  }
  return out;
}

bool looks_like_fiftyone(const std::string& path) {
  if (!is_folder(path)) return is_fiftyone_file(path);
  const std::vector<std::string> files = label_files(path);
  return !files.empty() && is_fiftyone_file(files.front());
}

void read_fiftyone(const std::string& path, ReadContext& context) {
  if (!is_folder(path)) {
    read_one_file(path, context, parse_fiftyone);
    return;
  }
  guarded(context, [&] { load_sidecars(path, context, ClassKeys::name); });
  read_each_of(path, context, label_files, parse_fiftyone);
}

/// A folder per annotator with labels.json, as FiftyOne imports them (FiftyOneImageDetectionDataset).
void write_fiftyone(const CrowdData& data, const std::string& path, WriteReport& report) {
  require_distinct_class_names(data, "fiftyone");
  const std::vector<std::string> names = item_names(data);
  AtomicFolder folder(path);
  write_item_sizes(join(folder.path(), "sizes.csv"), data, names);
  std::size_t sizeless = 0;
  const bool any = write_by_annotator(data, folder.path(), [&](const std::string& own, const auto& images) {
    FiftyOneLabels labels(join(own, "labels.json"), data);
    for (const auto& [i, rows] : images) {
      labels.begin_image(names[i]);
      for (const std::size_t n : rows) {
        const Annotation& a = data.annotations[n];
        sizeless += labels.box(data.images[i], a.box, a.label, std::nullopt) ? 0 : 1;
      }
      labels.end_image();
    }
    labels.finish();
  });
  if (!any) add_loss(report, "classes without boxes", data.classes.size());
  add_loss(report, "boxes of images without a size", sizeless);
  add_folder_name_loss(data, report);
  add_annotator_folder_losses(data, 1, true, report);
  folder.commit();
}

}  // namespace

CrowdFormat fiftyone_format() {
  CrowdFormat row = {"fiftyone",
                     "FiftyOne's labels.json or samples.json, one folder per annotator",
                     looks_like_fiftyone,
                     parse_fiftyone,
                     read_fiftyone,
                     number_classes,
                     write_fiftyone,
                     false,
                     false};
  row.takes.class_names = row.takes.annotator_key = row.takes.from_key = true;
  return row;
}

}  // namespace bdc
