#include "crowd/label_studio_predictions.h"

#include <array>
#include <map>
#include <optional>
#include <sstream>
#include <vector>

#include "bdc/base/error.h"
#include "bdc/base/json_stream.h"
#include "bdc/base/text.h"
#include "crowd/coco_record.h"
#include "crowd/json_records.h"
#include "crowd/label_studio_picture.h"
#include "crowd/name_ties.h"

namespace bdc {
namespace {

struct Predicted {
  std::array<std::optional<double>, 4> percent;  ///< x, y, width, height
  std::optional<double> rotation, score;
  std::int64_t width = 0, height = 0;
  std::string type, label;
};

class PredictionReader {
 public:
  PredictionReader(std::istream& in, const std::string& name)
      : json_(in, name), images_(images_text_), boxes_(boxes_text_) {}

  std::string read() {
    images_.begin_array();
    boxes_.begin_array();
    json_.begin_array();
    while (json_.next_element()) task();
    json_.finish();
    if (!any_) throw DataError(json_.name() + ": expected predictions in Label Studio's tasks, found none");
    images_.end_array().flush();
    boxes_.end_array().flush();
    std::ostringstream categories;
    {
      JsonWriter json(categories);
      json.begin_array();
      for (const auto& [label, number] : class_number_) {
        json.begin_object().key("id").integer(number).key("name").string(label).end_object();
      }
      json.end_array();
    }
    return "{\"images\":" + images_text_.str() + ",\"categories\":" + categories.str() +
           ",\"annotations\":" + boxes_text_.str() + "}";
  }

 private:
  void task() {
    std::optional<RecordId> id;
    LabelStudioPicture texts;
    to_name_.clear();
    std::vector<Predicted> found;
    json_.begin_object();
    while (json_.next_member()) {
      const std::string_view key = json_.key();
      if (key == "id") {
        id = read_id(json_);
      } else if (key == "data" && json_.peek() == JsonReader::Type::object) {
        json_.begin_object();
        while (json_.next_member()) {
          const std::string text(json_.key());
          if (json_.peek() == JsonReader::Type::string) {
            texts.add(text, json_.string());
          } else {
            json_.skip();
          }
        }
      } else if (key == "predictions" && json_.peek() == JsonReader::Type::array) {
        json_.begin_array();
        while (json_.next_element()) prediction(found);
      } else {
        json_.skip();
      }
    }
    if (!id) id = RecordId::integer(static_cast<std::int64_t>(json_.index()) + 1);
    const std::string file = texts.file(to_name_);
    images_.begin_object().key("id");
    write_id(images_, id->external());
    images_.key("file_name").string(comparable_path(file)).end_object();
    for (const Predicted& one : found) write(one, *id);
  }

  void prediction(std::vector<Predicted>& found) {
    std::string model;
    std::optional<double> score;
    const std::size_t first = found.size();
    json_.begin_object();
    while (json_.next_member()) {
      const std::string_view key = json_.key();
      if (key == "model_version") {
        if (const auto id = read_optional_id(json_)) model = id->external().text;
      } else if (key == "score" && json_.peek() == JsonReader::Type::number) {
        score = json_.number();
      } else if (key == "result" && json_.peek() == JsonReader::Type::array) {
        json_.begin_array();
        while (json_.next_element()) result(found);
      } else {
        json_.skip();
      }
    }
    if (any_ && model != model_) {
      json_.fail_value("expected the predictions of one model, found those of " + in_quotes(model_) + " and " +
                       in_quotes(model) + "; leave one of them in the export");
    }
    any_ = true;
    model_ = model;
    for (std::size_t n = first; n < found.size(); ++n) {
      if (!found[n].score) found[n].score = score;
      if (!found[n].score)
        json_.fail_value("expected the member \"score\" of a predicted box, or of its prediction, found none");
    }
  }

  void result(std::vector<Predicted>& found) {
    Predicted one;
    json_.begin_object();
    while (json_.next_member()) {
      const std::string_view key = json_.key();
      if (key == "type") {
        one.type = read_optional_string(json_);
      } else if (key == "to_name" && json_.peek() == JsonReader::Type::string) {
        to_name_ = json_.string();
      } else if (key == "score" && json_.peek() == JsonReader::Type::number) {
        one.score = json_.number();
      } else if (key == "original_width") {
        one.width = read_optional_integer(json_);
      } else if (key == "original_height") {
        one.height = read_optional_integer(json_);
      } else if (key == "value" && json_.peek() == JsonReader::Type::object) {
        value(one);
      } else {
        json_.skip();
      }
    }
    if (one.type != "rectanglelabels") return;
    for (const auto& side : one.percent) {
      if (!side) json_.fail_value("expected the numbers x, y, width and height in value, found not all of them");
    }
    if (one.rotation.value_or(0) != 0) json_.fail_value("expected an upright box, found a rotated one");
    if (one.label.empty()) json_.fail_value("expected a label in rectanglelabels, found none");
    if (one.width <= 0 || one.height <= 0) {
      json_.fail_value("expected original_width and original_height above 0, found " + std::to_string(one.width) +
                       " x " + std::to_string(one.height));
    }
    found.push_back(std::move(one));
  }

  void value(Predicted& one) {
    json_.begin_object();
    while (json_.next_member()) {
      const std::string_view key = json_.key();
      const int side = key == "x" ? 0 : key == "y" ? 1 : key == "width" ? 2 : key == "height" ? 3 : -1;
      if (side >= 0) {
        one.percent[static_cast<std::size_t>(side)] = json_.number();
      } else if (key == "rotation" && json_.peek() == JsonReader::Type::number) {
        one.rotation = json_.number();
      } else if (key == "rectanglelabels" && json_.peek() == JsonReader::Type::array) {
        json_.begin_array();
        while (json_.next_element()) {
          const std::string label(json_.string());
          if (one.label.empty()) one.label = label;
        }
      } else {
        json_.skip();
      }
    }
  }

  void write(const Predicted& one, const RecordId& image) {
    const auto number = class_number_.try_emplace(one.label, static_cast<std::int64_t>(class_number_.size()) + 1);
    const double x = static_cast<double>(one.width) / 100, y = static_cast<double>(one.height) / 100;
    boxes_.begin_object().key("image_id");
    write_id(boxes_, image.external());
    boxes_.key("category_id").integer(number.first->second).key("bbox").begin_array();
    boxes_.number(*one.percent[0] * x).number(*one.percent[1] * y);
    boxes_.number(*one.percent[2] * x).number(*one.percent[3] * y).end_array();
    boxes_.key("score").number(*one.score).end_object();
  }

  JsonReader json_;
  std::ostringstream images_text_, boxes_text_;
  JsonWriter images_, boxes_;
  std::map<std::string, std::int64_t> class_number_;
  std::string model_, to_name_;
  bool any_ = false;
};

}  // namespace

bool is_label_studio_file(const std::string& path) {
  return probe_json(path, [](JsonReader& json) {
    if (!begin_list_of_objects(json)) return false;
    while (json.next_member()) {
      if (json.key() == "data" || json.key() == "predictions") return true;
      if (json.key() == "bbox" || json.key() == "category_id") return false;
      json.skip();
    }
    return false;
  });
}

std::string label_studio_predictions(std::istream& in, const std::string& name) {
  return PredictionReader(in, name).read();
}

}  // namespace bdc
