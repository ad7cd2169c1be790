#include "bdc/crowd/consensus.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <stdexcept>
#include <unordered_set>

#include "base/files.h"
#include "bdc/base/atomic_file.h"
#include "bdc/base/error.h"
#include "bdc/base/json_stream.h"
#include "bdc/base/text.h"
#include "bdc/crowd/coco.h"
#include "crowd/folder_dataset.h"
#include "crowd/format.h"
#include "crowd/id_table.h"
#include "crowd/item_writers.h"
#include "crowd/json_records.h"
#include "crowd/label_tree.h"
#include "crowd/splits.h"
#include "crowd/xml_file.h"

namespace bdc {
namespace {

const std::string& class_of(const Targets& targets, const CrowdData& data, std::size_t n) {
  return data.classes[static_cast<std::size_t>(targets.label(n))].name;
}

std::size_t targets_without_size(const Targets& targets, const CrowdData& data) {
  std::size_t out = 0;
  for (std::size_t i = 0; i < data.images.size(); ++i) {
    if (data.images[i].width == 0) out += targets.begin[i + 1] - targets.begin[i];
  }
  return out;
}

/// What every format but coco and crowd leaves out.
void add_measure_losses(const Targets& targets, WriteReport& report, bool scores_kept) {
  const std::size_t count = targets.box.size();
  if (!scores_kept) add_loss(report, "scores", count);
  add_loss(report, "weights and class probabilities", count);
  add_loss(report, "probabilities that the object is real", targets.existence.size());
  add_loss(report, "standard deviations of boxes", targets.box_std.size());
}

void write_coco(const Targets& targets, const CrowdData& data, const std::string& path, const ConsensusOptions&,
                WriteReport&) {
  write_targets(targets, data, path);
}

/// The labels with one annotator, "consensus", who saw every image.
void write_as_crowd(const Targets& targets, const CrowdData& data, const std::string& path, const ConsensusOptions&,
                    WriteReport& report) {
  CrowdData out;
  out.images = data.images;
  out.classes = data.classes;
  out.annotators = {{{"consensus", false}, ""}};
  out.assignments_known = true;
  for (std::size_t i = 0; i < data.images.size(); ++i) {
    out.assignments.push_back({static_cast<std::int32_t>(i), 0});
    for (std::size_t n = targets.begin[i]; n < targets.begin[i + 1]; ++n) {
      out.annotations.push_back({targets.box[n], static_cast<std::int32_t>(i), targets.label(n), 0});
    }
  }
  out.finalize();
  report = write_crowd(out, path, "crowd");
  add_measure_losses(targets, report, false);
}

/// The folders of a picture's path; nothing when it has none, or is no plain path below the data set's folder.
std::vector<std::string> plain_folders(const std::string& file) {
  std::vector<std::string> out;
  if (file.find_first_of("\\:") != std::string::npos || file.front() == '/') return out;
  for (const auto& part : std::filesystem::path(file).parent_path()) {
    if (part.empty() || part.string().front() == '.' || to_file_name(part.string()) != part.string()) return {};
    out.push_back(part.string());
  }
  return out;
}

/// Where programs for YOLO look for the labels of pictures in folders: of train/images/a.jpg in train/labels/a.txt, of
/// street/a.jpg (in images/) in labels/street/a.txt. `names` are those of the label files otherwise, in labels/; they
/// become what our reader calls the images.
std::vector<std::string> label_paths(const CrowdData& data, std::vector<std::string>& names) {
  std::vector<std::string> paths, stems, long_names;
  std::set<std::string> different;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string& file = data.images[i].file;
    std::vector<std::string> folders = file.empty() ? std::vector<std::string>() : plain_folders(file);
    const auto images = std::find(folders.begin(), folders.end(), "images");
    const bool is_split =
        images != folders.end() &&
        std::all_of(folders.begin(), images, [](const std::string& folder) { return !split_of(folder).empty(); });
    if (is_split) {
      *images = "labels";
    } else {
      folders.insert(folders.begin(), "labels");
    }
    // A name that means something else beside labels is changed where no folder is.
    const std::string stem = folders.size() > 1 ? to_file_name(file_stem(file)) : names[i];
    std::string path, name;
    for (const std::string& folder : folders) {
      path += folder + "/";
      if (!means_labels(folder)) name += folder + "/";
    }
    const bool is_taken = !different.insert(path + stem).second;
    if (is_taken || (folders.size() > 1 && is_reserved_label_name(stem))) {  // as they are called without folders
      paths.clear();
      for (const std::string& plain : names) paths.push_back(join("labels", plain + ".txt"));
      return paths;
    }
    paths.push_back(path + stem + ".txt");
    stems.push_back(stem);
    long_names.push_back(to_file_name(name + from_file_name(stem)));
  }
  names = std::set<std::string>(stems.begin(), stems.end()).size() == stems.size() ? stems : long_names;
  return paths;
}

void write_labels_folder(const Targets& targets, const CrowdData& data, const std::string& path, bool scores,
                         WriteReport& report) {
  std::vector<std::string> names = label_names(data);
  const std::vector<std::string> paths = label_paths(data, names);
  AtomicFolder folder(path);
  make_folder(join(folder.path(), "labels"));
  write_class_names(join(folder.path(), "classes.txt"), data, report);
  write_sizes_csv(join(folder.path(), "sizes.csv"), data, names);
  for (std::size_t i = 0; i < data.images.size(); ++i) {
    const double width = data.images[i].width, height = data.images[i].height;
    std::string text;
    for (std::size_t n = targets.begin[i]; n < targets.begin[i + 1] && width > 0; ++n) {
      const Box& box = targets.box[n];
      text += std::to_string(targets.label(n));
      for (const double value : {(box.x1 + box.x2) / 2 / width, (box.y1 + box.y2) / 2 / height, box.width() / width,
                                 box.height() / height}) {
        text += ' ';
        append_shortest_decimal(text, value);
      }
      if (scores) {
        text += ' ';
        append_shortest_decimal(text, targets.score[n]);
      }
      text += '\n';
    }
    const std::string file = join(folder.path(), paths[i]);
    std::filesystem::create_directories(std::filesystem::path(file).parent_path());
    write_text_file(file, text);
  }
  add_loss(report, "boxes of images without a size", targets_without_size(targets, data));
  add_measure_losses(targets, report, scores);
  folder.commit();
}

void write_yolo(const Targets& targets, const CrowdData& data, const std::string& path, const ConsensusOptions&,
                WriteReport& report) {
  write_labels_folder(targets, data, path, false, report);
}

void write_yolo_scores(const Targets& targets, const CrowdData& data, const std::string& path, const ConsensusOptions&,
                       WriteReport& report) {
  write_labels_folder(targets, data, path, true, report);
}

void write_voc(const Targets& targets, const CrowdData& data, const std::string& path, const ConsensusOptions&,
               WriteReport& report) {
  require_distinct_class_names(data, "voc");
  const std::vector<std::string> names = label_names(data);
  const auto element = [](const char* name, const std::string& text) {
    return std::string("<") + name + ">" + text + "</" + name + ">";
  };
  AtomicFolder folder(path);
  const std::string annotations = join(folder.path(), "Annotations");
  make_folder(annotations);
  for (std::size_t i = 0; i < data.images.size(); ++i) {
    const ImageRecord& image = data.images[i];
    std::string text =
        "<annotation>\n  " + element("filename", xml_escaped(image.file.empty() ? image.id.text : image.file)) + "\n";
    if (image.width > 0) {
      text += "  <size>" + element("width", std::to_string(image.width)) +
              element("height", std::to_string(image.height)) + element("depth", "3") + "</size>\n";
    }
    for (std::size_t n = targets.begin[i]; n < targets.begin[i + 1]; ++n) {
      const Box& box = targets.box[n];
      text += "  <object>\n    " + element("name", xml_escaped(class_of(targets, data, n))) +
              "\n    <pose>Unspecified</pose><truncated>0</truncated><difficult>0</difficult>\n    <bndbox>" +
              element("xmin", shortest_decimal(box.x1)) + element("ymin", shortest_decimal(box.y1)) +
              element("xmax", shortest_decimal(box.x2)) + element("ymax", shortest_decimal(box.y2)) +
              "</bndbox>\n  </object>\n";
    }
    write_text_file(join(annotations, names[i] + ".xml"), text + "</annotation>\n");
  }
  add_measure_losses(targets, report, false);
  folder.commit();
}

/// One XML file for the task that has these images. CVAT finds images by their names.
void write_cvat(const Targets& targets, const CrowdData& data, const std::string& path, const ConsensusOptions&,
                WriteReport& report) {
  require_distinct_class_names(data, "cvat");
  std::unordered_set<std::string> names;
  bool numbered = true;
  for (const ImageRecord& image : data.images) {
    if (!names.insert(image.file.empty() ? image.id.text : image.file).second) {
      throw DataError("two images have the name " + in_quotes(image.file) + ", and CVAT knows images by their names");
    }
    numbered = numbered && image.id.is_integer && image.id.text.front() != '-';
  }
  AtomicFile file(path);
  std::ostream& out = file.stream();
  out << "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<annotations>\n  <version>1.1</version>\n  <meta>\n    <task>\n"
         "      <size>"
      << data.images.size() << "</size>\n      <mode>annotation</mode>\n      <labels>\n";
  for (const ClassRecord& record : data.classes) {
    out << "        <label><name>" << xml_escaped(record.name)
        << "</name><type>rectangle</type><attributes><attribute><name>score</name><mutable>False</mutable>"
           "<input_type>text</input_type><default_value></default_value><values></values></attribute></attributes>"
           "</label>\n";
  }
  out << "      </labels>\n    </task>\n  </meta>\n";
  for (std::size_t i = 0; i < data.images.size(); ++i) {
    const ImageRecord& image = data.images[i];
    out << "  <image id=\"" << (numbered ? image.id.text : std::to_string(i)) << "\" name=\""
        << xml_escaped(image.file.empty() ? image.id.text : image.file) << "\"";
    if (image.width > 0) out << " width=\"" << image.width << "\" height=\"" << image.height << "\"";
    out << ">\n";
    for (std::size_t n = targets.begin[i]; n < targets.begin[i + 1]; ++n) {
      const Box& box = targets.box[n];
      out << "    <box label=\"" << xml_escaped(class_of(targets, data, n))
          << "\" source=\"auto\" occluded=\"0\" xtl=\"" << shortest_decimal(box.x1) << "\" ytl=\""
          << shortest_decimal(box.y1) << "\" xbr=\"" << shortest_decimal(box.x2) << "\" ybr=\""
          << shortest_decimal(box.y2) << "\" z_order=\"0\"><attribute name=\"score\">"
          << shortest_decimal(targets.score[n]) << "</attribute></box>\n";
    }
    out << "  </image>\n";
  }
  out << "</annotations>\n";
  add_measure_losses(targets, report, true);
  file.commit();
}

/// Tasks with predictions.
void write_label_studio(const Targets& targets, const CrowdData& data, const std::string& path,
                        const ConsensusOptions& options, WriteReport& report) {
  AtomicFile file(path);
  {
    JsonWriter json(file.stream());
    json.begin_array();
    for (std::size_t i = 0; i < data.images.size(); ++i) {
      const ImageRecord& image = data.images[i];
      json.new_line().begin_object();
      if (image.id.is_integer) json.key("id").integer(RecordId::from(image.id).value);
      json.key("data").begin_object().key(options.data_key).string(image.file.empty() ? image.id.text : image.file);
      json.end_object().key("annotations").begin_array().end_array();
      json.key("predictions").begin_array().begin_object().key("model_version").string(options.model_version);
      double sum = 0;
      const std::size_t count = targets.begin[i + 1] - targets.begin[i];
      for (std::size_t n = targets.begin[i]; n < targets.begin[i + 1]; ++n) sum += targets.score[n];
      if (count > 0) json.key("score").number(sum / static_cast<double>(count));
      json.key("result").begin_array();
      const double width = image.width, height = image.height;
      for (std::size_t n = targets.begin[i]; n < targets.begin[i + 1] && width > 0; ++n) {
        const Box& box = targets.box[n];
        json.new_line().begin_object().key("id").string("bdc" + std::to_string(n + 1));
        json.key("type").string("rectanglelabels").key("from_name").string(options.from_name);
        json.key("to_name").string(options.to_name).key("original_width").integer(image.width);
        json.key("original_height").integer(image.height).key("image_rotation").integer(0);
        json.key("score").number(targets.score[n]).key("value").begin_object();
        json.key("x").number(box.x1 / width * 100).key("y").number(box.y1 / height * 100);
        json.key("width").number(box.width() / width * 100).key("height").number(box.height() / height * 100);
        json.key("rotation").integer(0).key("rectanglelabels").begin_array();
        json.string(class_of(targets, data, n)).end_array().end_object().end_object();
      }
      json.end_array().end_object().end_array().end_object();
    }
    json.new_line().end_array();
  }
  file.stream() << '\n';
  add_loss(report, "boxes of images without a size", targets_without_size(targets, data));
  add_measure_losses(targets, report, true);
  file.commit();
}

/// A data set's folder: annotations/default.json.
void write_datumaro(const Targets& targets, const CrowdData& data, const std::string& path, const ConsensusOptions&,
                    WriteReport& report) {
  require_distinct_class_names(data, "datumaro");
  const std::vector<std::string> names = item_names(data);
  AtomicFolder folder(path);
  const std::string annotations = join(folder.path(), "annotations");
  make_folder(annotations);
  DatumaroItems items(join(annotations, "default.json"), data);
  for (std::size_t i = 0; i < data.images.size(); ++i) {
    items.begin_image(names[i]);
    for (std::size_t n = targets.begin[i]; n < targets.begin[i + 1]; ++n) {
      items.box(targets.box[n], targets.label(n), targets.score[n]);
    }
    items.end_image(data.images[i]);
  }
  items.finish();
  add_measure_losses(targets, report, true);
  folder.commit();
}

/// labels.json of a FiftyOneImageDetectionDataset, and sizes.csv for our own reader.
void write_fiftyone(const Targets& targets, const CrowdData& data, const std::string& path, const ConsensusOptions&,
                    WriteReport& report) {
  require_distinct_class_names(data, "fiftyone");
  const std::vector<std::string> names = item_names(data);
  AtomicFolder folder(path);
  write_item_sizes(join(folder.path(), "sizes.csv"), data, names);
  FiftyOneLabels labels(join(folder.path(), "labels.json"), data);
  std::size_t sizeless = 0;
  for (std::size_t i = 0; i < data.images.size(); ++i) {
    labels.begin_image(names[i]);
    for (std::size_t n = targets.begin[i]; n < targets.begin[i + 1]; ++n) {
      sizeless += labels.box(data.images[i], targets.box[n], targets.label(n), targets.score[n]) ? 0 : 1;
    }
    labels.end_image();
  }
  labels.finish();
  add_loss(report, "boxes of images without a size", sizeless);
  add_measure_losses(targets, report, true);
  folder.commit();
}

struct ConsensusFormat {
  const char *name, *description;
  void (*write)(const Targets&, const CrowdData&, const std::string&, const ConsensusOptions&, WriteReport&);
};

constexpr ConsensusFormat table[] = {
    {"coco", "COCO JSON with score, weight and class_probs; the only one that keeps everything", write_coco},
    {"crowd", "COCO JSON with one annotator, \"consensus\"", write_as_crowd},
    {"cvat", "CVAT for images 1.1, one XML file to upload to the task", write_cvat},
    {"datumaro", "a folder with annotations/default.json, a Datumaro data set", write_datumaro},
    {"fiftyone", "a folder with labels.json, a FiftyOneImageDetectionDataset", write_fiftyone},
    {"label-studio", "Label Studio's JSON, tasks with predictions to import", write_label_studio},
    {"yolo", "a folder with labels/ and classes.txt", write_yolo},
    {"yolo-scores", "the same with the score as a sixth column, as detectors write it", write_yolo_scores},
    {"voc", "a folder with Annotations/ of Pascal VOC XML", write_voc},
};

}  // namespace

std::vector<ConsensusFormatInfo> consensus_formats() {
  std::vector<ConsensusFormatInfo> out;
  for (const ConsensusFormat& row : table) out.push_back({row.name, row.description});
  return out;
}

WriteReport write_consensus(const Targets& targets, const CrowdData& data, const std::string& path,
                            const ConsensusOptions& options) {
  if (targets.begin.size() != data.images.size() + 1 ||
      static_cast<std::size_t>(targets.num_classes) != data.classes.size()) {
    throw std::invalid_argument("targets do not have the data's images and classes");
  }
  std::vector<std::string> known;
  for (const ConsensusFormat& row : table) {
    known.emplace_back(row.name);
    if (options.format != row.name) continue;
    WriteReport report;
    row.write(targets, data, path, options, report);
    return report;
  }
  throw DataError("no format of a consensus is called " + in_quotes(options.format) + "; known: " + join(known));
}

Targets strong_targets(const Targets& targets, double min_existence, double min_score, ConsensusCut* cut) {
  if (min_existence > 0 && targets.existence.empty() && !targets.box.empty()) {
    throw DataError("these targets have no existence to cut by: their method does not estimate it");
  }
  ConsensusCut counts;
  Targets out;
  out.num_classes = targets.num_classes;
  out.begin = {0};
  const auto classes = static_cast<std::size_t>(targets.num_classes);
  for (std::size_t i = 0; i + 1 < targets.begin.size(); ++i) {
    for (std::size_t n = targets.begin[i]; n < targets.begin[i + 1]; ++n) {
      if (min_existence > 0 && !(targets.existence[n] >= min_existence)) {
        ++counts.below_existence;
        continue;
      }
      if (min_score > 0 && !(targets.score[n] >= min_score)) {
        ++counts.below_score;
        continue;
      }
      ++counts.kept;
      out.box.push_back(targets.box[n]);
      if (!targets.hard_label.empty()) out.hard_label.push_back(targets.hard_label[n]);
      for (std::size_t j = 0; j < classes && !targets.class_probs.empty(); ++j) {
        out.class_probs.push_back(targets.class_probs[n * classes + j]);
      }
      out.weight.push_back(targets.weight[n]);
      out.score.push_back(targets.score[n]);
      if (!targets.existence.empty()) out.existence.push_back(targets.existence[n]);
      if (!targets.located.empty()) out.located.push_back(targets.located[n]);
      if (!targets.box_std.empty()) out.box_std.push_back(targets.box_std[n]);
    }
    out.begin.push_back(out.box.size());
  }
  if (cut != nullptr) *cut = counts;
  return out;
}

namespace {

/// JSON-MIN: the members of a task are those of its data and the control tags.
void use_names_of_min(const std::string& path, ConsensusOptions& options) {
  static_cast<void>(probe_json(path, [&](JsonReader& json) {
    if (json.peek() != JsonReader::Type::array) return false;
    json.begin_array();
    while (json.next_element()) {
      std::string data, control;
      bool is_min = false;
      json.begin_object();
      while (json.next_member()) {
        const std::string key(json.key());
        is_min = is_min || key == "annotation_id";
        if (json.peek() == JsonReader::Type::string) {
          const bool is_other = key == "created_at" || key == "updated_at" || key == "agreement";
          if (key == "image" || (data.empty() && !is_other)) data = key;
          json.skip();
        } else if (control.empty() && json.peek() == JsonReader::Type::array) {
          json.begin_array();
          while (json.next_object_element()) {
            while (json.next_member()) {
              if (json.key() == "rectanglelabels") control = key;
              json.skip();
            }
          }
        } else {
          json.skip();
        }
      }
      if (!is_min) return false;
      if (!data.empty()) options.data_key = data;
      if (control.empty()) continue;  // nothing was drawn there
      options.from_name = control;
      return true;
    }
    return false;
  }));
}

}  // namespace

void use_names_of_export(const std::string& path, ConsensusOptions& options) {
  const auto first_result = [&](JsonReader& json) {
    json.begin_array();
    while (json.next_element()) {
      std::string from, to;
      json.begin_object();
      while (json.next_member()) {
        if (json.key() == "from_name") {
          from = read_optional_string(json);
        } else if (json.key() == "to_name") {
          to = read_optional_string(json);
        } else {
          json.skip();
        }
      }
      if (from.empty() || to.empty()) continue;
      options.from_name = from;
      options.to_name = to;
      return true;
    }
    return false;
  };
  const auto annotations = [&](JsonReader& json) {
    json.begin_array();
    while (json.next_element()) {
      json.begin_object();
      while (json.next_member()) {
        if (json.key() == "result") {
          if (first_result(json)) return true;
        } else {
          json.skip();
        }
      }
    }
    return false;
  };
  const auto data_key = [&](JsonReader& json) {
    bool found = false;
    json.begin_object();
    while (json.next_member()) {
      const std::string key(json.key());
      if (json.peek() == JsonReader::Type::string && (key == "image" || !found)) {
        options.data_key = key;
        found = true;
      }
      json.skip();
    }
  };
  // The two stand in any order inside a task, so each is looked for on its own.
  for (const char* wanted : {"data", "annotations"}) {
    static_cast<void>(probe_json(path, [&](JsonReader& json) {
      if (json.peek() != JsonReader::Type::array) return false;
      json.begin_array();
      while (json.next_element()) {
        json.begin_object();
        while (json.next_member()) {
          if (json.key() != wanted) {
            json.skip();
          } else if (std::string_view(wanted) == "data") {
            data_key(json);
            return true;
          } else if (annotations(json)) {
            return true;
          }
        }
      }
      return false;
    }));
  }
  use_names_of_min(path, options);
}

}  // namespace bdc
