// LabelMe: a JSON file per image, a folder per annotator. Rectangles are boxes; polygons and circles are shapes.
#include <cmath>

#include "base/files.h"
#include "bdc/base/error.h"
#include "bdc/base/json_stream.h"
#include "bdc/base/text.h"
#include "crowd/box_around.h"
#include "crowd/coco_record.h"
#include "crowd/folder_dataset.h"
#include "crowd/format.h"
#include "crowd/json_records.h"
#include "crowd/label_tree.h"

namespace bdc {
namespace {

struct Shape {
  std::string label, type;
  BoxAround around;
  std::vector<std::pair<double, double>> first_points;  ///< at most two
  std::size_t line = 0, index = 0;
};

class LabelMeReader {
 public:
  LabelMeReader(JsonReader& json, ReadContext& context) : json_(json), context_(context), builder_(context.builder) {}

  void read(const std::string& image_name, const std::string& annotator_id) {
    builder_.begin_file(json_.name());
    use_class_names(context_, ClassKeys::name);
    std::string file;
    std::int64_t width = 0, height = 0;
    bool has_shapes = false;
    std::vector<Shape> shapes;
    json_.begin_object();
    while (json_.next_member()) {
      const std::string_view key = json_.key();
      if (key == "imagePath") {
        file = read_optional_string(json_);
      } else if (key == "imageWidth") {
        width = read_optional_integer(json_);
      } else if (key == "imageHeight") {
        height = read_optional_integer(json_);
      } else if (key == "shapes") {
        has_shapes = true;
        for_each_record(json_, builder_.problems(), [&] { shapes.push_back(read_shape()); });
      } else {
        json_.skip();
      }
    }
    json_.finish();
    if (!has_shapes) json_.fail_value("expected the member \"shapes\", found none");
    std::replace(file.begin(), file.end(), '\\', '/');
    const RecordPlace place = builder_.place(0);
    // imagePath is relative to the label file, often "../images/a.jpg"; the name is what counts.
    const std::string name = file.substr(file.rfind('/') == std::string::npos ? 0 : file.rfind('/') + 1);
    if (const std::string misplaced = folder_of_image(name, image_name, annotator_id); !misplaced.empty()) {
      throw DataError(json_.name() + ": " + misplaced);
    }
    const std::int32_t image = image_of(context_, image_name, name, place);
    builder_.set_image_size(image, width, height, place);
    const std::int32_t annotator = builder_.mention_annotator(RecordId::untyped(annotator_id), "", place);
    builder_.add_assignment(image, annotator, place);
    builder_.assignments_are_known();
    for (const Shape& shape : shapes) use(shape, image, annotator);
  }

 private:
  Shape read_shape() {
    Shape shape;
    static_cast<void>(json_.peek());
    shape.line = json_.line();
    shape.index = json_.index();
    json_.begin_object();
    while (json_.next_member()) {
      const std::string_view key = json_.key();
      if (key == "label") {
        shape.label = read_optional_string(json_);
      } else if (key == "shape_type") {
        shape.type = read_optional_string(json_);
      } else if (key == "points") {
        json_.begin_array();
        while (json_.next_element()) {
          std::vector<double> point;
          read_numbers(json_, point, 2);
          if (point.size() != 2)
            json_.fail_value("expected a point of 2 numbers, found " + std::to_string(point.size()));
          shape.around.add(point[0], point[1]);
          if (shape.first_points.size() < 2) shape.first_points.emplace_back(point[0], point[1]);
        }
      } else {
        json_.skip();
      }
    }
    if (shape.label.empty()) json_.fail_value("expected the member \"label\", found none");
    if (shape.type.empty()) shape.type = "polygon";  // files of old versions
    return shape;
  }

  void use(const Shape& shape, std::int32_t image, std::int32_t annotator) {
    const RecordPlace place = builder_.place(shape.line, "shapes", shape.index);
    std::optional<Box> box = shape.around.box();
    const std::string what = "a shape of type " + in_quotes(shape.type);
    if (shape.type != "rectangle") {
      if (shape.type == "circle" && box && shape.first_points.size() == 2) {
        const auto [x, y] = shape.first_points[0];
        const double radius = std::hypot(shape.first_points[1].first - x, shape.first_points[1].second - y);
        box = Box{x - radius, y - radius, x + radius, y + radius};
      } else if ((shape.type != "polygon" && shape.type != "mask") || !box) {
        context_.leave_shape(place, what);
        return;
      }
      if (!context_.takes_shape(place, what)) return;
    } else if (!box) {
      builder_.report(ProblemKind::bad_record, place, "expected a rectangle of two corners, found no points");
      return;
    }
    builder_.add_box(image, label_of(context_, shape.label, ClassKeys::name, place), annotator, *box, place);
  }

  JsonReader& json_;
  ReadContext& context_;
  CrowdBuilder& builder_;
};

void parse_labelme(std::istream& in, const std::string& name, ReadContext& context) {
  const std::string& given = context.options.annotator;
  JsonReader json(in, name);
  LabelMeReader(json, context)
      .read(from_file_name(file_stem(name)), given.empty() ? from_file_name(parent_name(name)) : given);
}

bool is_labelme_file(const std::string& path) {
  return probe_json(path, [](JsonReader& json) {
    if (json.peek() != JsonReader::Type::object) return false;
    bool shapes = false, image = false;
    json.begin_object();
    while (json.next_member()) {
      shapes = shapes || json.key() == "shapes";
      image = image || json.key() == "imagePath";
      if (is_coco_list(json)) return false;
      if (shapes && image) return true;
      json.skip();
    }
    return false;
  });
}

void read_labelme(const std::string& path, ReadContext& context) {
  if (!is_folder(path)) {
    read_one_file(path, context, parse_labelme);
    return;
  }
  std::vector<std::string> files;
  for (std::string& file : files_below(path, {".json"})) {
    if (is_labelme_file(file)) files.push_back(std::move(file));
  }
  for (const AnnotatorFiles& part : label_tree(path, files, context)) {
    for (const LabelFile& file : part.files) {
      guarded(context, [&] {
        std::ifstream in = open_input(file.path);
        JsonReader json(in, file.path);
        LabelMeReader(json, context).read(file.image, part.annotator);
      });
    }
  }
}

bool looks_like_labelme(const std::string& path) {
  if (!is_folder(path)) return is_labelme_file(path);
  const std::vector<std::string> files = files_below(path, {".json"});
  for (std::size_t n = 0; n < files.size() && n < 20; ++n) {
    if (is_labelme_file(files[n])) return true;
  }
  return false;
}

}  // namespace

CrowdFormat labelme_format() {
  CrowdFormat row = {"labelme",
                     "LabelMe's JSON, one file per image, one folder per annotator",
                     looks_like_labelme,
                     parse_labelme,
                     read_labelme,
                     number_classes,
                     nullptr};
  row.takes.class_names = true;
  return row;
}

}  // namespace bdc
