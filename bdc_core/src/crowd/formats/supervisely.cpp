// Supervisely's JSON: projects with meta.json (the classes) and a folder per data set, in whose ann/ lies a file per
// image, "a.jpg.json". An object may say who drew it (labelerLogin); where none does, a project is one annotator's.
#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <set>

#include "base/files.h"
#include "bdc/base/error.h"
#include "bdc/base/json_stream.h"
#include "bdc/base/text.h"
#include "crowd/box_around.h"
#include "crowd/coco_record.h"
#include "crowd/folder_dataset.h"
#include "crowd/format.h"
#include "crowd/json_records.h"
#include "crowd/splits.h"

namespace bdc {
namespace {

namespace fs = std::filesystem;

struct Object {
  std::string geometry, class_title, labeler;
  BoxAround around;
  std::size_t points = 0;
  RecordPlace place;
};

/// What is known of a project before its files are read.
struct Project {
  std::string annotator;    ///< of objects that do not say who drew them
  bool has_logins = false;  ///< objects say it
};

class SuperviselyReader {
 public:
  SuperviselyReader(JsonReader& json, ReadContext& context)
      : json_(json), context_(context), builder_(context.builder) {}

  /// `image`: the file's name of the picture.
  void read(const std::string& image_name, const Project& project) {
    builder_.begin_file(json_.name());
    std::int64_t width = 0, height = 0;
    bool has_objects = false;
    std::vector<Object> objects;
    json_.begin_object();
    while (json_.next_member()) {
      const std::string_view key = json_.key();
      if (key == "size" && json_.peek() == JsonReader::Type::object) {
        json_.begin_object();
        while (json_.next_member()) {
          const bool is_width = json_.key() == "width";
          if (is_width || json_.key() == "height") {
            (is_width ? width : height) = read_optional_integer(json_);
          } else {
            json_.skip();
          }
        }
      } else if (key == "objects") {
        has_objects = true;
        for_each_record(json_, builder_.problems(), [&] { objects.push_back(object()); });
      } else {
        json_.skip();
      }
    }
    json_.finish();
    if (!has_objects) json_.fail_value("expected the member \"objects\", found none");
    const RecordPlace place = builder_.place(0);
    const std::int32_t image = builder_.mention_image(RecordId::string(image_name), image_name, place);
    builder_.set_image_size(image, width, height, place);
    const auto person = [&](const std::string& who) {
      return builder_.mention_annotator(RecordId::untyped(who), "", place);
    };
    const bool logins = project.has_logins && context_.options.annotator.empty();
    if (!logins) {
      builder_.assignments_are_known();
      builder_.add_assignment(image, person(project.annotator), place);
    }
    for (const Object& one : objects) {
      if (logins && one.labeler.empty()) {
        builder_.report(ProblemKind::bad_record, one.place,
                        "expected the member \"labelerLogin\" (who drew), as other objects have it, found none");
        continue;
      }
      use(one, image, person(logins ? one.labeler : project.annotator));
    }
  }

 private:
  Object object() {
    Object out;
    static_cast<void>(json_.peek());
    out.place = builder_.place(json_.line(), "objects", json_.index());
    json_.begin_object();
    while (json_.next_member()) {
      const std::string_view key = json_.key();
      if (key == "geometryType" || (key == "shape" && out.geometry.empty())) {
        out.geometry = read_optional_string(json_);
      } else if (key == "classTitle") {
        out.class_title = read_optional_string(json_);
      } else if (key == "labelerLogin") {
        out.labeler = read_optional_string(json_);
      } else if (key == "points" && json_.peek() == JsonReader::Type::object) {
        json_.begin_object();
        while (json_.next_member()) {
          if (json_.key() != "exterior" || json_.peek() != JsonReader::Type::array) {
            json_.skip();
            continue;
          }
          json_.begin_array();
          while (json_.next_element()) {
            std::vector<double> point;
            read_numbers(json_, point, 2);
            if (point.size() != 2) {
              json_.fail_value("expected a point of 2 numbers, found " + std::to_string(point.size()));
            }
            out.around.add(point[0], point[1]);
            ++out.points;
          }
        }
      } else {
        json_.skip();
      }
    }
    if (out.class_title.empty()) json_.fail_value("expected the member \"classTitle\", found none");
    if (out.geometry.empty()) json_.fail_value("expected the member \"geometryType\", found none");
    return out;
  }

  void use(const Object& one, std::int32_t image, std::int32_t annotator) {
    const std::string what = "an object of geometry " + in_quotes(one.geometry);
    if (one.geometry == "rectangle") {
      if (one.points != 2 || !one.around.box()) {
        builder_.report(ProblemKind::bad_record, one.place,
                        "expected a rectangle of 2 points, found " + std::to_string(one.points));
        return;
      }
    } else if ((one.geometry != "polygon" && one.geometry != "line") || !one.around.box()) {
      context_.leave_shape(one.place, what);
      return;
    } else if (!context_.takes_shape(one.place, what)) {
      return;
    }
    builder_.add_box(image, label_of(context_, one.class_title, ClassKeys::name, one.place), annotator,
                     *one.around.box(), one.place);
  }

  JsonReader& json_;
  ReadContext& context_;
  CrowdBuilder& builder_;
};

/// "a.jpg" of ".../ann/a.jpg.json".
std::string picture_of(const std::string& path) {
  return file_stem(path);
}

bool is_annotation(JsonReader& json) {
  if (json.peek() != JsonReader::Type::object) return false;
  bool size = false, objects = false;
  json.begin_object();
  while (json.next_member()) {
    size = size || (json.key() == "size" && json.peek() == JsonReader::Type::object);
    if (json.key() == "objects" && json.peek() == JsonReader::Type::array) objects = true;
    if (size && objects) return true;
    if (is_coco_list(json)) return false;
    json.skip();
  }
  return false;
}

bool is_supervisely_file(const std::string& path) {
  return probe_json(path, is_annotation);
}

/// Whether one of the objects of a file says who drew it.
bool has_login(const std::string& path) {
  return probe_json(path, [](JsonReader& json) {
    json.begin_object();
    while (json.next_member()) {
      if (json.key() != "objects" || json.peek() != JsonReader::Type::array) {
        json.skip();
        continue;
      }
      json.begin_array();
      while (json.next_object_element()) {
        while (json.next_member()) {
          if (json.key() == "labelerLogin" && json.peek() == JsonReader::Type::string && !json.string().empty()) {
            return true;
          }
          if (json.key() != "labelerLogin" || json.peek() != JsonReader::Type::string) json.skip();
        }
      }
    }
    return false;
  });
}

void parse_supervisely(std::istream& in, const std::string& name, ReadContext& context) {
  JsonReader json(in, name);
  Project project{context.options.annotator.empty() ? context.source_annotator() : context.options.annotator, false};
  project.has_logins = is_regular_file(name) && has_login(name);
  SuperviselyReader(json, context).read(picture_of(name), project);
}

/// The folder with meta.json at or above a file, not above `top`; `top` where there is none.
std::string project_of(const std::string& file, const std::string& top) {
  fs::path folder = fs::path(file).parent_path();
  const fs::path end = fs::path(top).lexically_normal();
  for (;;) {
    if (is_regular_file(join(folder.string(), "meta.json"))) return folder.string();
    const fs::path above = folder.lexically_normal();
    if (above == end || !folder.has_parent_path() || folder == folder.parent_path()) return top;
    folder = folder.parent_path();
  }
}

/// {"classes": [{"title": "car", "shape": "rectangle"}]}
void read_meta(const std::string& path, ReadContext& context) {
  if (!is_regular_file(path)) return;
  std::ifstream in = open_input(path);
  JsonReader json(in, path);
  context.builder.begin_file(path);
  json.begin_object();
  while (json.next_member()) {
    if (json.key() != "classes" || json.peek() != JsonReader::Type::array) {
      json.skip();
      continue;
    }
    for_each_record(json, context.builder.problems(), [&] {
      static_cast<void>(json.peek());
      const RecordPlace place = context.builder.place(json.line(), "classes", json.index());
      std::string title;
      json.begin_object();
      while (json.next_member()) {
        if (json.key() == "title") {
          title = read_optional_string(json);
        } else {
          json.skip();
        }
      }
      if (title.empty()) json.fail_value("expected the member \"title\", found none");
      context.builder.mention_class(RecordId::string(title), title, place);
    });
  }
}

/// The picture's name, with its data set's where several of a project have one of that name.
std::string long_name(const std::string& file, const std::string& project) {
  fs::path out;
  for (const fs::path& part : fs::path(file).lexically_relative(project).parent_path()) {
    if (part != "ann" && part != "." && part != "..") out /= part;
  }
  return (out / picture_of(file)).string();
}

void read_supervisely(const std::string& path, ReadContext& context) {
  if (!is_folder(path)) {
    read_one_file(path, context, parse_supervisely);
    return;
  }
  std::vector<std::string> found;
  for (std::string& file : files_below(path, {".json"})) {
    if (is_supervisely_file(file)) found.push_back(std::move(file));
  }
  context.accounted.insert(found.begin(), found.end());
  const std::vector<std::string> splits = splits_below(path, found);  // data sets of a project
  context.saw_splits(path, splits);
  std::map<std::string, std::vector<std::string>> projects;
  for (std::size_t n = 0; n < found.size(); ++n) {
    if (context.wants_split(splits[n])) projects[project_of(found[n], path)].push_back(found[n]);
  }
  bool any_login = false;
  for (const auto& entry : projects) {
    const std::string& folder = entry.first;
    const std::vector<std::string>& files = entry.second;
    guarded(context, [&] { read_meta(join(folder, "meta.json"), context); });
    Project project;
    project.annotator = projects.size() > 1 && context.options.annotator.empty() ? from_file_name(folder_name(folder))
                                                                                 : context.source_annotator();
    std::map<std::string, std::size_t> count;
    for (const std::string& file : files) {
      ++count[picture_of(file)];
      project.has_logins = project.has_logins || has_login(file);
    }
    any_login = any_login || project.has_logins;
    const bool repeats = std::any_of(count.begin(), count.end(), [](const auto& name) { return name.second > 1; });
    if (repeats && !project.has_logins && context.options.annotator.empty() &&
        !is_regular_file(join(folder, "meta.json"))) {
      throw DataError(printable(folder) +
                      ": expected a meta.json in each annotator's project, found none, and several folders label the "
                      "same pictures, so it cannot be known who drew; export whole projects, or say --annotator NAME "
                      "if all is by one person");
    }
    for (const std::string& file : files) {
      guarded(context, [&] {
        std::ifstream in = open_input(file);
        JsonReader json(in, file);
        SuperviselyReader(json, context).read(repeats ? long_name(file, folder) : picture_of(file), project);
      });
    }
  }
  if (any_login) {
    context.note(printable(path) + ": labelerLogin says who drew; who saw an image and drew nothing is not known");
  }
}

/// The first files tell: a folder with ann/ among its folders, or files of annotations.
bool looks_like_supervisely(const std::string& path) {
  if (!is_folder(path)) {
    return is_supervisely_file(path) && (ends_with(path, ".json") && !fs::path(file_stem(path)).extension().empty());
  }
  const std::vector<std::string> files = files_below(path, {".json"});
  std::size_t looked = 0;
  for (const std::string& file : files) {
    if (file_stem(file) == "meta") continue;
    if (++looked > 20) break;
    if (is_supervisely_file(file)) return true;
  }
  return false;
}

}  // namespace

CrowdFormat supervisely_format() {
  return {"supervisely",
          "Supervisely's JSON, one file per image in ann/",
          looks_like_supervisely,
          parse_supervisely,
          read_supervisely,
          number_classes,
          nullptr};
}

}  // namespace bdc
