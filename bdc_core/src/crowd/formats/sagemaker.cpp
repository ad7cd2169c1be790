// SageMaker Ground Truth, in three forms: the output manifest of an object detection job (JSON lines, boxes that Ground
// Truth has consolidated), the requests for consolidation (a list of objects with the answers of all workers), and the
// workers' responses (a file per image, in folders numbered like the manifest's lines). The last two hold the crowd.
#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <sstream>

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

constexpr std::size_t max_line = std::size_t{1} << 26;  // bytes of a line of a manifest

struct Drawn {
  std::optional<Box> box;
  std::string label;           ///< or, in a manifest:
  std::int64_t class_id = -1;  ///< the number that its class-map names
  bool is_shape = false;
};

/// Boxes that one worker, or one job, drew in an image.
struct Boxes {
  std::vector<Drawn> drawn;
  std::int64_t width = 0, height = 0;
  bool found = false;  ///< there is a list of boxes, although it may be empty
};

struct Answer {
  std::string worker;
  Boxes boxes;
};

/// {"left", "top", "width", "height", and "label" or "class_id"}, or {"label", "vertices": [{"x", "y"}]}.
Drawn read_drawn(JsonReader& json) {
  Drawn drawn;
  std::optional<double> left, top, width, height;
  BoxAround around;
  json.begin_object();
  while (json.next_member()) {
    const std::string_view key = json.key();
    std::optional<double>* const side = key == "left"     ? &left
                                        : key == "top"    ? &top
                                        : key == "width"  ? &width
                                        : key == "height" ? &height
                                                          : nullptr;
    if (side != nullptr) {
      *side = json.number_or_nan();
    } else if (key == "label") {
      drawn.label = read_optional_string(json);
    } else if (key == "class_id") {
      drawn.class_id = json.integer();
    } else if (key == "vertices" && json.peek() == JsonReader::Type::array) {
      drawn.is_shape = true;
      json.begin_array();
      while (json.next_element()) {
        std::optional<double> x, y;
        json.begin_object();
        while (json.next_member()) {
          if (json.key() == "x") {
            x = json.number_or_nan();
          } else if (json.key() == "y") {
            y = json.number_or_nan();
          } else {
            json.skip();
          }
        }
        if (x && y) around.add(*x, *y);
      }
    } else {
      json.skip();
    }
  }
  if (drawn.is_shape) {
    drawn.box = around.box();
    return drawn;
  }
  if (!left || !top || !width || !height) {
    json.fail_value("expected the numbers left, top, width and height of a box, found not all of them");
  }
  drawn.box = Box{*left, *top, *left + *width, *top + *height};
  return drawn;
}

void read_size(JsonReader& json, Boxes& boxes) {
  json.begin_object();
  while (json.next_member()) {
    if (json.key() == "width") {
      boxes.width = read_optional_integer(json);
    } else if (json.key() == "height") {
      boxes.height = read_optional_integer(json);
    } else {
      json.skip();
    }
  }
}

void read_list(JsonReader& json, Boxes& boxes) {
  boxes.found = true;
  json.begin_array();
  while (json.next_element()) boxes.drawn.push_back(read_drawn(json));
}

/// What a worker's form holds: {"<name of the tool>": {"boundingBoxes": [...], "inputImageProperties": {...}}}.
Boxes read_content(JsonReader& json) {
  Boxes boxes;
  json.begin_object();
  while (json.next_member()) {
    if (json.peek() != JsonReader::Type::object) {
      json.skip();
      continue;
    }
    json.begin_object();
    while (json.next_member()) {
      const std::string_view key = json.key();
      if ((key == "boundingBoxes" || key == "polygons") && json.peek() == JsonReader::Type::array) {
        if (boxes.found) json.fail_value("expected one list of boxes in an answer, found two");
        read_list(json, boxes);
      } else if (key == "inputImageProperties" && json.peek() == JsonReader::Type::object) {
        read_size(json, boxes);
      } else {
        json.skip();
      }
    }
  }
  if (!boxes.found) json.fail_value("expected \"boundingBoxes\" in an answer, found none");
  return boxes;
}

/// {"workerId", "annotationData": {"content": "..."}}; the content is JSON in a string.
Answer read_annotation(JsonReader& json) {
  Answer answer;
  bool has_content = false;
  json.begin_object();
  while (json.next_member()) {
    if (json.key() == "workerId") {
      answer.worker = read_optional_string(json);
    } else if (json.key() == "annotationData" && json.peek() == JsonReader::Type::object) {
      json.begin_object();
      while (json.next_member()) {
        if (json.key() != "content") {
          json.skip();
          continue;
        }
        has_content = true;
        if (json.peek() == JsonReader::Type::object) {
          answer.boxes = read_content(json);
          continue;
        }
        std::istringstream text{std::string(json.string())};
        try {
          JsonReader inner(text, "content");
          answer.boxes = read_content(inner);
          inner.finish();
        } catch (const DataError& error) {
          json.fail_value(error.what());
        }
      }
    } else {
      json.skip();
    }
  }
  if (!has_content) {
    json.fail_value("expected \"content\" in annotationData, found none; answers that are kept elsewhere are not read");
  }
  if (answer.worker.empty()) json.fail_value("expected the member \"workerId\", found none");
  return answer;
}

/// "photos/a.jpg" of "s3://bucket/photos/a.jpg".
std::string file_of(const std::string& address) {
  if (address.rfind("s3://", 0) != 0) return address;
  const std::size_t slash = address.find('/', 5);
  return slash == std::string::npos ? address : address.substr(slash + 1);
}

class SageMakerReader {
 public:
  SageMakerReader(const std::string& name, ReadContext& context)
      : name_(name), context_(context), builder_(context.builder) {
    builder_.expect_one_assignment_each();
    builder_.begin_file(name);
    builder_.assignments_are_known();
  }

  /// One of the three forms, by its first character and member.
  void read(std::istream& in) {
    const int first = first_character(in);
    if (first == '[') {
      JsonReader json(in, name_);
      for_each_record(json, builder_.problems(), [&] { request(json); });
      json.finish();
      return;
    }
    std::string text;
    std::getline(in, text);
    if (text.size() < max_line && text.find("\"source-ref\"") != std::string::npos) {
      manifest(in, text);
      return;
    }
    std::ostringstream rest;
    rest << text << '\n' << in.rdbuf();
    std::istringstream whole(rest.str());
    JsonReader json(whole, name_);
    response(json);
    json.finish();
  }

 private:
  // The output manifest.

  struct Attribute {
    Boxes boxes;
    std::map<std::int64_t, std::string> class_map;
    std::string type;
    bool by_people = true;
  };

  void manifest(std::istream& in, std::string text) {
    std::size_t line = 0, unlabelled = 0, automatic = 0;
    do {
      ++line;
      if (text.size() > max_line) throw DataError(name_ + ":" + std::to_string(line) + ": expected a shorter line");
      if (trimmed(text).empty()) continue;
      std::istringstream part(text);
      try {
        JsonReader json(part, name_, line);
        manifest_line(json, unlabelled, automatic);
        json.finish();
      } catch (const JsonValueError& error) {
        if (builder_.problems().strict()) throw;
        builder_.problems().report(ProblemKind::bad_record, [&] { return std::string(error.what()); });
      }
    } while (std::getline(in, text));
    const auto left_out = [&](std::size_t n, const char* why) {
      if (n > 0) context_.note(name_ + ": " + counted(n, "image") + " left out: " + why);
    };
    left_out(unlabelled, "no boxes are listed for them");
    left_out(automatic, "a model drew the boxes there, nobody else");
  }

  void manifest_line(JsonReader& json, std::size_t& unlabelled, std::size_t& automatic) {
    std::string source;
    std::map<std::string, Attribute> attributes;
    std::map<std::string, std::vector<Answer>> answers;
    static_cast<void>(json.peek());
    const RecordPlace place = builder_.place(json.line());
    json.begin_object();
    while (json.next_member()) {
      const std::string key(json.key());
      constexpr std::string_view end = "-metadata";
      if (key == "source-ref") {
        source = read_optional_string(json);
      } else if (json.peek() != JsonReader::Type::object) {
        json.skip();
      } else if (key.size() > end.size() && ends_with(key, end)) {
        read_metadata(json, attributes[key.substr(0, key.size() - end.size())]);
      } else {
        read_attribute(json, attributes[key], answers[key]);
      }
    }
    if (source.empty()) json.fail_value("expected the member \"source-ref\", found none");
    bool any = false;
    for (auto& [name, list] : answers) {
      for (const Answer& answer : list) {
        any = true;
        use(image_of_address(source, place), answer.worker, answer.boxes, {}, place);
      }
    }
    if (any) return;
    for (const auto& [name, attribute] : attributes) {
      if (!attribute.boxes.found) continue;
      any = true;
      if (!attribute.by_people) {
        ++automatic;
        continue;
      }
      use(image_of_address(source, place), annotator_of(name), attribute.boxes, attribute.class_map, place);
    }
    unlabelled += any ? 0 : 1;
  }

  /// {"image_size": [{"width", "height", "depth"}], "annotations": [...]}, or the answers of all workers.
  static void read_attribute(JsonReader& json, Attribute& out, std::vector<Answer>& answers) {
    json.begin_object();
    while (json.next_member()) {
      const std::string_view key = json.key();
      if (json.peek() != JsonReader::Type::array) {
        json.skip();
      } else if (key == "annotations") {
        read_list(json, out.boxes);
      } else if (key == "image_size") {
        json.begin_array();
        while (json.next_element()) read_size(json, out.boxes);
      } else if (key == "annotationsFromAllWorkers") {
        json.begin_array();
        while (json.next_element()) answers.push_back(read_annotation(json));
      } else {
        json.skip();
      }
    }
  }

  static void read_metadata(JsonReader& json, Attribute& out) {
    json.begin_object();
    while (json.next_member()) {
      const std::string_view key = json.key();
      if (key == "human-annotated" && json.peek() == JsonReader::Type::string) {
        out.by_people = json.string() != "no";
      } else if (key == "class-map" && json.peek() == JsonReader::Type::object) {
        json.begin_object();
        while (json.next_member()) {
          const auto number = parse_integer(json.key());
          if (!number) json.fail_value("expected a number in class-map, found " + in_quotes(json.key()));
          out.class_map[*number] = read_optional_string(json);
        }
      } else {
        json.skip();
      }
    }
  }

  /// Who drew the boxes of an attribute: a job. One file's, or with --annotator-from key the attribute.
  std::string annotator_of(const std::string& attribute) {
    if (context_.options.annotator_from == AnnotatorFrom::key) return attribute;
    if (attribute_.empty()) attribute_ = attribute;
    if (attribute != attribute_) {
      throw DataError(name_ + ": several jobs drew boxes, " + in_quotes(attribute_) + " and " + in_quotes(attribute) +
                      "; --annotator-from key takes each for an annotator");
    }
    return context_.source_annotator();
  }

  // Requests for consolidation.

  void request(JsonReader& json) {
    static_cast<void>(json.peek());
    const RecordPlace place = builder_.place(json.line(), "[]", json.index());
    std::string number, address;
    std::optional<std::vector<Answer>> answers;
    json.begin_object();
    while (json.next_member()) {
      const std::string_view key = json.key();
      if (key == "datasetObjectId") {
        if (const auto id = read_optional_id(json)) number = id->external().text;
      } else if (key == "dataObject" && json.peek() == JsonReader::Type::object) {
        json.begin_object();
        while (json.next_member()) {
          const bool is_address = json.key() == "s3Uri" || json.key() == "source-ref";
          if (is_address && json.peek() == JsonReader::Type::string) {
            address = json.string();
          } else {
            json.skip();
          }
        }
      } else if (key == "annotations" && json.peek() == JsonReader::Type::array) {
        answers.emplace();
        for_each_record(json, builder_.problems(), [&] { answers->push_back(read_annotation(json)); });
      } else {
        json.skip();
      }
    }
    if (!answers) json.fail_value("expected the member \"annotations\", found none");
    if (number.empty() && address.empty()) {
      json.fail_value("expected datasetObjectId or dataObject.s3Uri, found neither");
    }
    const std::int32_t image = address.empty() ? image_of_number(number, place) : image_of_address(address, place);
    for (const Answer& answer : *answers) use(image, answer.worker, answer.boxes, {}, place);
  }

  // Workers' responses.

  void response(JsonReader& json) {
    bool has_answers = false;
    json.begin_object();
    while (json.next_member()) {
      if (json.key() != "answers") {
        json.skip();
        continue;
      }
      has_answers = true;
      const std::string number = parent_name(name_);
      const RecordPlace file_place = builder_.place(0);
      const std::int32_t image = image_of_number(number, file_place);
      for_each_record(json, builder_.problems(), [&] {
        static_cast<void>(json.peek());
        const RecordPlace place = builder_.place(json.line(), "answers", json.index());
        Answer answer;
        json.begin_object();
        while (json.next_member()) {
          if (json.key() == "workerId") {
            answer.worker = read_optional_string(json);
          } else if (json.key() == "answerContent" && json.peek() == JsonReader::Type::object) {
            answer.boxes = read_content(json);
          } else {
            json.skip();
          }
        }
        if (answer.worker.empty()) json.fail_value("expected the member \"workerId\", found none");
        if (!answer.boxes.found) json.fail_value("expected the member \"answerContent\", found none");
        use(image, answer.worker, answer.boxes, {}, place);
      });
    }
    if (!has_answers) json.fail_value("expected the member \"answers\", found none");
  }

  // All.

  std::int32_t image_of_address(const std::string& address, const RecordPlace& place) {
    return builder_.mention_image(RecordId::string(address), file_of(address), place);
  }

  /// An image that is known by its line in the job's manifest, which lies in a folder beside the answers.
  std::int32_t image_of_number(const std::string& number, const RecordPlace& place) {
    const RecordId id = RecordId::untyped(number);
    const std::vector<std::string>& lines = manifest_lines();
    if (id.is_integer && id.value >= 0 && static_cast<std::size_t>(id.value) < lines.size()) {
      const std::string& address = lines[static_cast<std::size_t>(id.value)];
      if (!address.empty()) return image_of_address(address, place);
    }
    if (context_.paths.size() > 1) {
      throw DataError(name_ +
                      ": images are known by their numbers alone, which differ between jobs; name the job's folder, "
                      "with its manifests/output/output.manifest");
    }
    context_.note(
        "images are known by their numbers alone: manifests/output/output.manifest of the job, which names "
        "them, is not there");
    return builder_.mention_image(id, "", place);
  }

  /// The addresses in the lines of the manifest of the job whose answers are read; empty when there is none.
  const std::vector<std::string>& manifest_lines() {
    const std::size_t at = name_.rfind("/annotations/");
    const std::string root = at == std::string::npos ? "" : name_.substr(0, at);
    static const std::vector<std::string> none;
    if (root.empty()) return none;
    const std::string path = join(join(join(root, "manifests"), "output"), "output.manifest");
    const auto known = context_.manifests.find(path);
    if (known != context_.manifests.end()) return known->second;
    std::vector<std::string>& lines = context_.manifests[path];
    if (!is_regular_file(path)) return lines;
    std::ifstream in = open_input(path);
    std::string text;
    while (std::getline(in, text)) {
      lines.emplace_back();
      if (trimmed(text).empty() || text.size() > max_line) continue;
      std::istringstream part(text);
      JsonReader json(part, path, lines.size());
      json.begin_object();
      while (json.next_member()) {
        if (json.key() == "source-ref") {
          lines.back() = read_optional_string(json);
        } else {
          json.skip();
        }
      }
    }
    return lines;
  }

  void use(std::int32_t image, const std::string& who, const Boxes& boxes,
           const std::map<std::int64_t, std::string>& class_map, const RecordPlace& place) {
    const std::string& given = context_.options.annotator;
    const std::int32_t annotator =
        builder_.mention_annotator(RecordId::untyped(given.empty() ? who : given), "", place);
    builder_.set_image_size(image, boxes.width, boxes.height, place);
    builder_.add_assignment(image, annotator, place);
    for (const Drawn& drawn : boxes.drawn) {
      if (drawn.is_shape) {
        if (!drawn.box) {
          context_.leave_shape(place, "a polygon");
          continue;
        }
        if (!context_.takes_shape(place, "a polygon")) continue;
      }
      std::string label = drawn.label;
      if (const auto named = class_map.find(drawn.class_id); label.empty() && named != class_map.end()) {
        label = named->second;
      }
      if (label.empty()) {
        builder_.report(ProblemKind::bad_record, place,
                        drawn.class_id < 0
                            ? "expected a label of a box, found none"
                            : "class_id " + std::to_string(drawn.class_id) + " is not in the class-map of its line");
        continue;
      }
      builder_.add_box(image, builder_.mention_class(RecordId::string(label), label, place), annotator, *drawn.box,
                       place);
    }
  }

  std::string name_;
  ReadContext& context_;
  CrowdBuilder& builder_;
  std::string attribute_;  ///< the one that holds boxes
};

void parse_sagemaker(std::istream& in, const std::string& name, ReadContext& context) {
  SageMakerReader(name, context).read(in);
}

/// The files of a job's folder that hold the crowd: workers' responses, or else the requests for consolidation.
std::vector<std::string> crowd_files(const std::string& folder) {
  std::vector<std::string> responses, requests;
  for (const std::string& file : files_below(folder, {".json"})) {
    if (file.find("/worker-response/") != std::string::npos) responses.push_back(file);
    if (file.find("/consolidation-request/") != std::string::npos) requests.push_back(file);
  }
  return responses.empty() ? requests : responses;
}

void read_sagemaker(const std::string& path, ReadContext& context) {
  if (!is_folder(path)) {
    read_one_file(path, context, parse_sagemaker);
    return;
  }
  const std::vector<std::string> files = crowd_files(path);
  if (files.empty()) {
    throw DataError(path +
                    ": expected a Ground Truth job with annotations/worker-response or "
                    "annotations/consolidated-annotation/consolidation-request, found neither");
  }
  // A job holds the same answers in several forms, and what its workers were shown.
  for (const std::string& file : files_below(path, {".json", ".manifest", ".txt"})) context.accounted.insert(file);
  for (const std::string& file : files) read_one_file(file, context, parse_sagemaker);
}

bool looks_like_sagemaker(const std::string& path) {
  if (is_folder(path)) return !crowd_files(path).empty();
  return probe_json(path, [](JsonReader& json) {
    if (json.peek() == JsonReader::Type::array) {
      if (!begin_list_of_objects(json)) return false;
      while (json.next_member()) {
        if (json.key() == "datasetObjectId") return true;
        json.skip();
      }
      return false;
    }
    if (json.peek() != JsonReader::Type::object) return false;
    json.begin_object();
    while (json.next_member()) {
      if (json.key() == "source-ref" || json.key() == "answers") return true;
      if (is_coco_list(json)) return false;
      json.skip();
    }
    return false;
  });
}

}  // namespace

CrowdFormat sagemaker_format() {
  CrowdFormat row = {"sagemaker",
                     "SageMaker Ground Truth: output manifest, consolidation requests or workers' responses",
                     looks_like_sagemaker,
                     parse_sagemaker,
                     read_sagemaker,
                     number_classes,
                     nullptr,
                     true};
  row.takes.from_key = true;
  return row;
}

}  // namespace bdc
