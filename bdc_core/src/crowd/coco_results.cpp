#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <numeric>
#include <optional>
#include <sstream>

#include "base/files.h"
#include "bdc/base/atomic_file.h"
#include "bdc/base/error.h"
#include "bdc/base/text.h"
#include "bdc/crowd/coco.h"
#include "crowd/box_limits.h"
#include "crowd/coco_record.h"
#include "crowd/coco_writer.h"
#include "crowd/id_table.h"
#include "crowd/json_records.h"
#include "crowd/label_studio_predictions.h"
#include "crowd/name_ties.h"
#include "crowd/sim_file.h"

namespace bdc {
namespace {

constexpr std::size_t kLongestName = 100;  // compared and shown in messages

/// Reads records of a results list or of a COCO object and ties them to a data set's images and classes.
class ResultFileReader {
 public:
  ResultFileReader(std::istream& in, const std::string& name, const CrowdData& data, const ResultOptions& options)
      : data_(data), options_(options), images_(index_of(data.images)), classes_(index_of(data.classes)) {
    learn_names(in, name);
    json_.emplace(in, name);
  }

  /// For errors in what `use` finds.
  [[nodiscard]] JsonReader& json() { return *json_; }

  /// use(record, image, label, class_probs or nullptr) for every record.
  template <class Use>
  void read(const Use& use) {
    switch (json_->peek()) {
      case JsonReader::Type::array:
        read_list(use);
        break;
      case JsonReader::Type::object:
        read_object(use);
        break;
      default:
        json_->fail_value("expected a list of COCO results or a COCO object with annotations, found something else");
    }
    json_->finish();
  }

 private:
  template <class Use>
  void read_list(const Use& use) {
    json_->begin_array();
    while (json_->next_element()) read_record(use);
  }

  template <class Use>
  void read_object(const Use& use) {
    bool found = false;
    json_->begin_object();
    while (json_->next_member()) {
      if (json_->key() == "annotations") {
        found = true;
        read_list(use);
      } else if (json_->key() == "categories" && !has_names_) {
        read_categories();
      } else if (json_->key() == "images" && !has_names_) {
        read_images();
      } else {
        json_->skip();
      }
    }
    if (!found) json_->fail_value("expected the member \"annotations\", found none");
  }

  /// Categories and images, which may stand behind the annotations, are looked at first, unless the stream is a pipe.
  void learn_names(std::istream& in, const std::string& name) {
    const auto start = in.tellg();
    if (start < 0) {
      in.clear();
      return;
    }
    json_.emplace(in, name);
    if (json_->peek() == JsonReader::Type::object) {
      json_->begin_object();
      bool has_categories = false, has_images = false;
      while (json_->next_member()) {
        if (json_->key() == "categories") {
          has_categories = true;
          read_categories();
        } else if (json_->key() == "images") {
          has_images = true;
          read_images();
        } else if (json_->key() == "annotations" && has_categories && has_images) {
          break;
        } else {
          json_->skip();
        }
      }
      has_names_ = true;
    }
    in.clear();
    in.seekg(start);
  }

  /// class_probs follow this list: notes which class of the data each position is.
  void read_categories() {
    order_.emplace();
    json_->begin_array();
    while (json_->next_element()) {
      const auto [id, name] = read_entry("name");
      const std::int32_t same_id = classes_.find(id), label = label_named(name, same_id);
      if (record_seen_ && label != same_id) {
        json_->fail_value(
            "the categories come after the annotations and have other ids than the data's; expected them before the "
            "annotations");
      }
      own_labels_.set(id, {label, label < 0 ? name : std::string()});
      order_->push_back(label);
    }
    bool same = order_->size() == data_.classes.size();
    for (std::size_t j = 0; same && j < order_->size(); ++j) same = (*order_)[j] == static_cast<std::int32_t>(j);
    if (!same && probabilities_seen_) {
      json_->fail_value(
          "the categories come after annotations with class_probs, in another order than the data's; expected them "
          "before the annotations");
    }
    if (same) order_.reset();
  }

  /// The same number may stand for another class in another file: where both have names, these alone decide. A class
  /// that is called like its number has none.
  [[nodiscard]] std::int32_t label_named(const std::string& name, std::int32_t same_id) const {
    const auto named = [&](std::size_t j) { return data_.classes[j].name == name; };
    if (name.empty() || (same_id >= 0 && named(static_cast<std::size_t>(same_id)))) return same_id;
    for (std::size_t j = 0; j < data_.classes.size(); ++j) {
      if (named(j)) return static_cast<std::int32_t>(j);
    }
    if (same_id < 0) return -1;
    const ClassRecord& other = data_.classes[static_cast<std::size_t>(same_id)];
    const bool nameless = other.name.empty() || (other.id.is_integer && other.name == other.id.text);
    return nameless ? same_id : -1;
  }

  /// "category_id 3 ("zebra") is not in the data (2 classes); nearest name "cebra"".
  [[nodiscard]] std::string unknown_class(const RecordId& id) const {
    const OwnLabel* own = own_labels_.find(id);
    if (own == nullptr && !own_labels_.empty()) {
      return "category_id " + id.shown() + " is not in the file's own list of categories";
    }
    const std::string name = own == nullptr ? "" : own->unknown_name.substr(0, kLongestName);
    std::string out = "category_id " + id.shown() + (name.empty() ? "" : " (" + in_quotes(name) + ")") +
                      " is not in the data (" + std::to_string(data_.classes.size()) + " classes)";
    std::string nearest;
    std::size_t best = name.size() / 2 + 1;
    for (const ClassRecord& c : data_.classes) {
      const std::size_t distance = name.empty() ? best : edit_distance(name, c.name.substr(0, kLongestName));
      if (distance < best) best = distance, nearest = c.name;
    }
    return nearest.empty() ? out : out + "; nearest name " + in_quotes(nearest);
  }

  /// An object's id and the text of one more member, "" when it has none. Leaves the rest out.
  std::pair<RecordId, std::string> read_entry(const char* member) {
    std::optional<RecordId> id;
    std::string text;
    json_->begin_object();
    while (json_->next_member()) {
      if (json_->key() == "id") {
        id = read_id(*json_);
      } else if (json_->key() == member && json_->peek() == JsonReader::Type::string) {
        text = std::string(json_->string());
      } else {
        json_->skip();
      }
    }
    if (!id) json_->fail_value("expected the member \"id\", found none");
    return {*id, text};
  }

  /// A picture's name without folders, and without what Label Studio puts around it.
  static std::string picture_name(const std::string& file) {
    return std::filesystem::path(comparable_path(file)).filename().string();
  }

  /// Images that share no id with the data's, or whose id is another file there, are tied by file name; where names
  /// say that an id is another file and no file of that name is there, the image is not in the data.
  void read_images() {
    std::map<std::string, std::int32_t> by_name;
    for (std::size_t i = 0; i < data_.images.size(); ++i) {
      const auto [it, is_new] = by_name.emplace(picture_name(data_.images[i].file), static_cast<std::int32_t>(i));
      if (!is_new) it->second = -1;  // not unique: no help
    }
    json_->begin_array();
    while (json_->next_element()) {
      const auto [id, file] = read_entry("file_name");
      std::int32_t image = images_.find(id);
      const std::string name = picture_name(file);
      const std::string known =
          image < 0 ? std::string() : picture_name(data_.images[static_cast<std::size_t>(image)].file);
      if (!name.empty() && name != known) {
        const auto it = by_name.find(name);
        if (it != by_name.end() && it->second >= 0) {
          image = it->second;
        } else if (!known.empty()) {
          image = -1;  // the same number is another file there
        }
      }
      own_images_.set(id, image);
    }
  }

  [[nodiscard]] std::int32_t image_of(const RecordId& id) const {
    const std::int32_t* own = own_images_.find(id);
    return own == nullptr ? images_.find(id) : *own;
  }

  [[nodiscard]] std::int32_t label_of(const RecordId& id) const {
    if (own_labels_.empty()) return classes_.find(id);
    const OwnLabel* own = own_labels_.find(id);
    return own == nullptr ? -1 : own->label;
  }

  template <class Use>
  void read_record(const Use& use) {
    read_coco_record(*json_, record_);
    record_seen_ = true;
    const std::int32_t image = image_of(*record_.image_id);
    if (image < 0) {
      if (options_.skip_unknown_images) {
        if (options_.skipped != nullptr) ++*options_.skipped;
        return;
      }
      const bool is_other = images_.find(*record_.image_id) >= 0;
      json_->fail_value("image_id " + record_.image_id->shown() +
                        (is_other ? " is another file in the data" : " is not in the data") + " (" +
                        std::to_string(data_.images.size()) + " images)");
    }
    const std::int32_t label = label_of(*record_.category_id);
    if (label < 0) json_->fail_value(unknown_class(*record_.category_id));
    const auto& [x, y, w, h] = *record_.bbox;
    if (!std::isfinite(x) || !std::isfinite(y) || !std::isfinite(w) || !std::isfinite(h) || !std::isfinite(x + w) ||
        !std::isfinite(y + h)) {
      json_->fail_value("expected a bbox of finite numbers, found NaN or infinity");
    }
    if (beyond_limits(record_.box())) {
      json_->fail_value("expected a bbox with coordinates of at most 1e9, found [" + shortest_decimal(x) + ", " +
                        shortest_decimal(y) + ", " + shortest_decimal(w) + ", " + shortest_decimal(h) + "]");
    }
    if (w < 0 || h < 0 || (!options_.allow_empty_boxes && !record_.box().valid())) {
      json_->fail_value("expected a bbox with width and height above 0, found " + shortest_decimal(w) + " x " +
                        shortest_decimal(h));
    }
    if (!options_.allow_empty_boxes && (w < smallest_extent || h < smallest_extent)) {
      json_->fail_value("expected a bbox with width and height of at least 1e-6 pixels, found " + shortest_decimal(w) +
                        " x " + shortest_decimal(h));
    }
    const std::vector<double>* probabilities = nullptr;
    if (!record_.class_probs.empty()) {
      probabilities_seen_ = true;
      arrange_probabilities();
      probabilities = &probabilities_;
    }
    use(record_, image, label, probabilities);
  }

  void arrange_probabilities() {
    const std::size_t expected = order_ ? order_->size() : data_.classes.size();
    if (record_.class_probs.size() != expected) {
      json_->fail_value("expected " + std::to_string(expected) + " class_probs, one per class, found " +
                        std::to_string(record_.class_probs.size()));
    }
    probabilities_.assign(data_.classes.size(), 0.0);
    double sum = 0;
    for (std::size_t j = 0; j < expected; ++j) {
      const double p = record_.class_probs[j];
      if (!(p >= 0) || !std::isfinite(p)) {
        json_->fail_value("expected class_probs that are finite and not negative, found " + shortest_decimal(p));
      }
      const std::int32_t label = order_ ? (*order_)[j] : static_cast<std::int32_t>(j);
      if (label < 0) {
        if (p > 0) json_->fail_value("class_probs has a positive entry for a category that the data does not have");
        continue;
      }
      probabilities_[static_cast<std::size_t>(label)] = p;
      sum += p;
    }
    if (!(sum > 0) || !std::isfinite(sum)) {
      json_->fail_value("expected class_probs with a sum above 0, found " + shortest_decimal(sum));
    }
  }

  std::optional<JsonReader> json_;
  bool has_names_ = false;  ///< categories and images are known already
  const CrowdData& data_;
  const ResultOptions& options_;
  IdTable images_, classes_;
  std::optional<std::vector<std::int32_t>> order_;
  struct OwnLabel {
    std::int32_t label = -1;
    std::string unknown_name;  ///< when it is not in the data
  };
  /// By the file's own ids, where it lists images and categories: what they are in the data, -1: nothing.
  IdMap<std::int32_t> own_images_;
  IdMap<OwnLabel> own_labels_;
  bool record_seen_ = false, probabilities_seen_ = false;
  CocoRecord record_;
  std::vector<double> probabilities_;
};

/// Divides by the sum, unless that is 1 up to rounding (then the bits are kept).
void normalise(double* row, std::size_t classes) {
  const double sum = std::accumulate(row, row + classes, 0.0);
  if (std::abs(sum - 1) <= 1e-9) return;
  for (std::size_t j = 0; j < classes; ++j) row[j] /= sum;
}

/// Rows in the order of their images, best score first inside an image; file order for equal scores.
std::vector<std::size_t> order_by_image(const std::vector<std::int32_t>& image, const std::vector<double>* score) {
  std::vector<std::size_t> order(image.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    if (image[a] != image[b]) return image[a] < image[b];
    return score != nullptr && (*score)[a] > (*score)[b];
  });
  return order;
}

std::vector<std::size_t> begin_of(const std::vector<std::int32_t>& image, std::size_t images) {
  std::vector<std::size_t> begin(images + 1, 0);
  for (const std::int32_t i : image) ++begin[static_cast<std::size_t>(i) + 1];
  for (std::size_t i = 0; i < images; ++i) begin[i + 1] += begin[i];
  return begin;
}

template <class Value>
std::vector<Value> arranged(const std::vector<Value>& values, const std::vector<std::size_t>& order,
                            std::size_t width = 1) {
  std::vector<Value> out;
  out.reserve(values.size());
  for (const std::size_t n : order) {
    for (std::size_t k = 0; k < width; ++k) out.push_back(values[n * width + k]);
  }
  return out;
}

std::size_t most_probable(const std::vector<double>& rows, std::size_t row, std::size_t classes) {
  const auto first = rows.begin() + static_cast<std::ptrdiff_t>(row * classes);
  return static_cast<std::size_t>(std::max_element(first, first + static_cast<std::ptrdiff_t>(classes)) - first);
}

void write_probabilities(JsonWriter& json, const std::vector<double>& rows, std::size_t row, std::size_t classes) {
  json.key("class_probs").begin_array();
  for (std::size_t j = 0; j < classes; ++j) json.number(rows[row * classes + j]);
  json.end_array();
}

void require_shape(bool right, const char* what) {
  if (!right) throw std::invalid_argument(std::string(what) + " do not have the data's images and classes");
}

}  // namespace

void scan_coco_results(std::istream& in, const std::string& name, const CrowdData& data, const ResultOptions& options,
                       const std::function<void(const CocoResult&)>& use) {
  ResultFileReader reader(in, name, data, options);
  JsonReader& json = reader.json();
  reader.read([&](const CocoRecord& record, std::int32_t image, std::int32_t label, const std::vector<double>* probs) {
    if (!record.score) json.fail_value("expected the member \"score\", found none");
    use({*record.bbox, *record.score, image, label, probs});
  });
}

void scan_coco_results(const std::string& path, const CrowdData& data, const ResultOptions& options,
                       const std::function<void(const CocoResult&)>& use) {
  std::ifstream in = open_input(path);
  if (is_label_studio_file(path)) {
    std::istringstream results(label_studio_predictions(in, path));
    scan_coco_results(results, path, data, options, use);
    return;
  }
  scan_coco_results(in, path, data, options, use);
}

Predictions parse_predictions(std::istream& in, const std::string& name, const CrowdData& data,
                              const ResultOptions& options) {
  const std::size_t classes = data.classes.size();
  Predictions found;
  std::vector<std::int32_t> image;
  ResultFileReader reader(in, name, data, options);
  JsonReader& json = reader.json();
  reader.read([&](const CocoRecord& record, std::int32_t i, std::int32_t label, const std::vector<double>* probs) {
    if (!record.score) json.fail_value("expected the member \"score\", found none");
    const double score = *record.score;
    if (!(score >= 0 && score <= 1)) {
      json.fail_value("expected a score from 0 to 1, found " + shortest_decimal(score));
    }
    found.box.push_back(record.box());
    found.score.push_back(score);
    image.push_back(i);
    if (probs != nullptr) {
      found.class_probs.insert(found.class_probs.end(), probs->begin(), probs->end());
      normalise(&found.class_probs[found.class_probs.size() - classes], classes);
    } else {
      found.class_probs.insert(found.class_probs.end(), classes, (1 - score) / static_cast<double>(classes));
      found.class_probs[found.class_probs.size() - classes + static_cast<std::size_t>(label)] += score;
    }
  });
  const std::vector<std::size_t> order = order_by_image(image, &found.score);
  Predictions out;
  out.num_classes = static_cast<int>(classes);
  out.box = arranged(found.box, order);
  out.score = arranged(found.score, order);
  out.class_probs = arranged(found.class_probs, order, classes);
  out.begin = begin_of(image, data.images.size());
  return out;
}

Predictions read_predictions(const std::string& path, const CrowdData& data, const ResultOptions& options) {
  if (is_sim_file(path)) return read_sim_predictions(path, data);
  std::ifstream in = open_input(path);
  if (is_label_studio_file(path)) {
    std::istringstream results(label_studio_predictions(in, path));
    return parse_predictions(results, path, data, options);
  }
  return parse_predictions(in, path, data, options);
}

void write_predictions(const Predictions& predictions, const CrowdData& data, const std::string& path) {
  const std::size_t classes = data.classes.size();
  require_shape(predictions.begin.size() == data.images.size() + 1 &&
                    predictions.class_probs.size() == predictions.box.size() * classes &&
                    predictions.score.size() == predictions.box.size(),
                "predictions");
  AtomicFile file(path);
  {
    JsonWriter json(file.stream());
    json.begin_array();
    for (std::size_t i = 0; i < data.images.size(); ++i) {
      for (std::size_t n = predictions.begin[i]; n < predictions.begin[i + 1]; ++n) {
        json.new_line().begin_object().key("image_id");
        write_id(json, data.images[i].id);
        json.key("category_id");
        write_id(json, data.classes[most_probable(predictions.class_probs, n, classes)].id);
        write_bbox(json, predictions.box[n]);
        json.key("score").number(predictions.score[n]);
        write_probabilities(json, predictions.class_probs, n, classes);
        json.end_object();
      }
    }
    json.new_line().end_array();
  }
  file.stream() << '\n';
  file.commit();
}

void write_targets(const Targets& targets, const CrowdData& data, const std::string& path) {
  const std::size_t classes = data.classes.size();
  const std::size_t count = targets.box.size();
  require_shape(targets.begin.size() == data.images.size() + 1 &&
                    (targets.class_probs.size() == count * classes || targets.hard_label.size() == count) &&
                    targets.weight.size() == count && targets.score.size() == count &&
                    (targets.existence.empty() || targets.existence.size() == count) &&
                    (targets.located.empty() || targets.located.size() == count) &&
                    (targets.box_std.empty() || targets.box_std.size() == count),
                "targets");
  std::vector<double> probs(classes);
  AtomicFile file(path);
  {
    JsonWriter json(file.stream());
    json.begin_object();
    write_coco_images(json, data);
    write_coco_categories(json, data);
    json.new_line().key("annotations").begin_array();
    for (std::size_t i = 0; i < data.images.size(); ++i) {
      for (std::size_t n = targets.begin[i]; n < targets.begin[i + 1]; ++n) {
        json.new_line().begin_object().key("id").integer(static_cast<std::int64_t>(n) + 1).key("image_id");
        write_id(json, data.images[i].id);
        json.key("category_id");
        write_id(json, data.classes[static_cast<std::size_t>(targets.label(n))].id);
        write_bbox(json, targets.box[n]);
        json.key("area").number(targets.box[n].area()).key("iscrowd").integer(0);
        json.key("score").number(targets.score[n]).key("weight").number(targets.weight[n]);
        if (!targets.existence.empty()) json.key("existence").number(targets.existence[n]);
        if (!targets.located.empty()) json.key("located").number(targets.located[n]);
        if (!targets.box_std.empty()) {
          json.key("box_std").begin_array();
          for (const double std : targets.box_std[n]) json.number(std);
          json.end_array();
        }
        for (std::size_t j = 0; j < classes; ++j) probs[j] = targets.class_prob(n, j);
        write_probabilities(json, probs, 0, classes);
        json.end_object();
      }
    }
    json.new_line().end_array();
    json.new_line().end_object();
  }
  file.stream() << '\n';
  file.commit();
}

Targets parse_targets(std::istream& in, const std::string& name, const CrowdData& data) {
  const std::size_t classes = data.classes.size();
  Targets found;
  std::vector<std::int32_t> image;
  const ResultOptions options;
  ResultFileReader reader(in, name, data, options);
  JsonReader& json = reader.json();
  reader.read([&](const CocoRecord& record, std::int32_t i, std::int32_t label, const std::vector<double>* probs) {
    if (record.annotator_id && !record.score) {
      json.fail_value("expected a consensus, found a box that one annotator drew (annotator_id and no score); make a " +
                      std::string("consensus of these labels with `aggregate -o` first"));
    }
    found.box.push_back(record.box());
    found.score.push_back(record.score.value_or(1));
    found.weight.push_back(record.weight.value_or(1));
    if (found.weight.back() < 0) {
      json.fail_value("expected a weight of at least 0, found " + shortest_decimal(found.weight.back()));
    }
    if (record.existence) found.existence.push_back(*record.existence);
    if (record.located) found.located.push_back(*record.located);
    if (!record.box_std.empty()) {
      if (record.box_std.size() != 4) {
        json.fail_value("expected 4 numbers in box_std, found " + std::to_string(record.box_std.size()));
      }
      for (const double std : record.box_std) {
        if (!(std >= 0) || !std::isfinite(std)) {
          json.fail_value("expected a box_std that is finite and not negative, found " + shortest_decimal(std));
        }
      }
      found.box_std.push_back({record.box_std[0], record.box_std[1], record.box_std[2], record.box_std[3]});
    }
    image.push_back(i);
    if (probs != nullptr) {
      found.class_probs.insert(found.class_probs.end(), probs->begin(), probs->end());
      normalise(&found.class_probs[found.class_probs.size() - classes], classes);
    } else {
      found.class_probs.insert(found.class_probs.end(), classes, 0.0);
      found.class_probs[found.class_probs.size() - classes + static_cast<std::size_t>(label)] = 1;
    }
  });
  const std::vector<std::size_t> order = order_by_image(image, nullptr);
  Targets out;
  out.num_classes = static_cast<int>(classes);
  out.box = arranged(found.box, order);
  out.score = arranged(found.score, order);
  out.weight = arranged(found.weight, order);
  out.class_probs = arranged(found.class_probs, order, classes);
  if (found.existence.size() == image.size()) out.existence = arranged(found.existence, order);
  if (found.located.size() == image.size()) out.located = arranged(found.located, order);
  if (found.box_std.size() == image.size()) out.box_std = arranged(found.box_std, order);
  out.begin = begin_of(image, data.images.size());
  return out;
}

Targets read_targets(const std::string& path, const CrowdData& data) {
  std::ifstream in = open_input(path);
  return parse_targets(in, path, data);
}

}  // namespace bdc
