// A simulated crowd in one file: {"classes": J, "annotators": K, "images": [{"id", "width", "height",
//   "truth": [[x1,y1,x2,y2,class]], "annotations": [[x1,y1,x2,y2,class,annotator]], "seen_by": [annotator],
//   "predictions": [[x1,y1,x2,y2,p_0..p_J-1]]}]}; boxes in pixels, classes and annotators numbered from 0.
#include <algorithm>
#include <cmath>
#include <fstream>
#include <numeric>

#include "base/files.h"
#include "bdc/base/error.h"
#include "bdc/base/json_stream.h"
#include "bdc/crowd/coco.h"
#include "crowd/coco_record.h"
#include "crowd/format.h"
#include "crowd/json_records.h"
#include "crowd/sim_file.h"

namespace bdc {
namespace {

constexpr std::int64_t max_count = 1000000;  // of classes and of annotators: what a small hostile file may ask for

/// One row of numbers; the array that comes next.
void read_row(JsonReader& json, std::vector<double>& row, std::size_t size, const char* what) {
  read_numbers(json, row, size);
  if (row.size() != size) {
    json.fail_value("expected " + std::to_string(size) + " numbers (" + what + "), found " +
                    std::to_string(row.size()));
  }
}

std::int64_t whole(JsonReader& json, double value, std::int64_t limit, const char* what) {
  if (!(value >= 0) || !(value < static_cast<double>(limit)) || std::floor(value) != value) {
    json.fail_value(std::string("expected ") + what + " from 0 to " + std::to_string(limit - 1) + ", found " +
                    shortest_decimal(value));
  }
  return static_cast<std::int64_t>(value);
}

std::int64_t read_count(JsonReader& json) {
  const std::int64_t count = json.integer();
  if (count < 0 || count > max_count) {
    json.fail_value("expected a number from 0 to " + std::to_string(max_count) + ", found " + std::to_string(count));
  }
  return count;
}

class SimFileReader {
 public:
  SimFileReader(JsonReader& json, ReadContext& context) : json_(json), builder_(context.builder) {}

  void read() {
    builder_.begin_file(json_.name());
    bool images = false;
    json_.begin_object();
    while (json_.next_member()) {
      if (json_.key() == "classes") {
        classes_ = read_count(json_);
        for (std::int64_t j = 0; j < classes_; ++j) {
          builder_.define_class(RecordId::integer(j), std::to_string(j), builder_.place(json_.line()));
        }
      } else if (json_.key() == "annotators") {
        annotators_ = read_count(json_);
        for (std::int64_t k = 0; k < annotators_; ++k) {
          builder_.define_annotator(RecordId::integer(k), "", builder_.place(json_.line()));
        }
      } else if (json_.key() == "images") {
        if (classes_ < 0 || annotators_ < 0) {
          json_.fail_value("expected \"classes\" and \"annotators\" (whole numbers) before \"images\"");
        }
        images = true;
        for_each_record(json_, builder_.problems(), [this] { image(); });
      } else {
        json_.skip();
      }
    }
    if (!images) json_.fail_value("expected the member \"images\", found none");
    json_.finish();
    builder_.has_truth();
    if (builder_.role() == BoxRole::crowd) builder_.assignments_are_known();
  }

 private:
  void image() {
    const RecordPlace place = builder_.place(json_.line(), "images", json_.index());
    std::int32_t image = -1;
    std::int64_t width = 0, height = 0;
    RecordId id;
    bool has_id = false;
    const auto define = [&] {
      if (!has_id) json_.fail_value("expected \"id\", \"width\" and \"height\" before the lists of boxes");
      if (image >= 0) return;
      builder_.define_image(id, "", width, height, place);
      image = builder_.image(id, "id", place);
    };
    const auto seen_by = [&](double k) {
      return builder_.annotator(RecordId::integer(whole(json_, k, annotators_, "an annotator")), "annotator", place);
    };
    const auto label = [&](double c) {
      return builder_.label(RecordId::integer(whole(json_, c, classes_, "a class")), "class", place);
    };
    json_.begin_object();
    while (json_.next_member()) {
      const std::string_view key = json_.key();
      if (key == "id") {
        id = read_id(json_);
        has_id = true;
      } else if (key == "width") {
        width = json_.integer();
      } else if (key == "height") {
        height = json_.integer();
      } else if (key == "truth") {
        define();
        for_each_record(json_, builder_.problems(), [&] {
          read_row(json_, row_, 5, "x1, y1, x2, y2, class");
          builder_.add_truth(image, label(row_[4]), {row_[0], row_[1], row_[2], row_[3]}, false, -1, place);
        });
      } else if (key == "annotations") {
        define();
        for_each_record(json_, builder_.problems(), [&] {
          read_row(json_, row_, 6, "x1, y1, x2, y2, class, annotator");
          if (builder_.role() == BoxRole::truth) return;
          builder_.add_box(image, label(row_[4]), seen_by(row_[5]), {row_[0], row_[1], row_[2], row_[3]}, place);
        });
      } else if (key == "seen_by") {
        define();
        for_each_record(json_, builder_.problems(), [&] {
          const std::int32_t annotator = seen_by(json_.number());
          if (builder_.role() == BoxRole::crowd) builder_.add_assignment(image, annotator, place);
        });
      } else {
        json_.skip();
      }
    }
    define();
  }

  JsonReader& json_;
  CrowdBuilder& builder_;
  std::int64_t classes_ = -1, annotators_ = -1;
  std::vector<double> row_;
};

void parse_sim(std::istream& in, const std::string& name, ReadContext& context) {
  JsonReader json(in, name);
  SimFileReader(json, context).read();
}

void read_sim(const std::string& path, ReadContext& context) {
  read_one_file(path, context, parse_sim);
}

void add_prediction(JsonReader& json, Predictions& out, std::size_t classes, std::vector<double>& row) {
  read_row(json, row, 4 + classes, "x1, y1, x2, y2 and one probability per class");
  const Box box{row[0], row[1], row[2], row[3]};
  if (!box.valid()) json.fail_value("expected a box with x1 < x2 and y1 < y2");
  double sum = 0, best = 0;
  for (std::size_t j = 0; j < classes; ++j) {
    const double p = row[4 + j];
    if (!(p >= 0) || !std::isfinite(p)) {
      json.fail_value("expected probabilities that are finite and not negative, found " + shortest_decimal(p));
    }
    sum += p;
    best = std::max(best, p);
  }
  if (!(sum > 0) || !std::isfinite(sum)) {
    json.fail_value("expected probabilities with a sum above 0, found " + shortest_decimal(sum));
  }
  const double scale = std::abs(sum - 1) <= 1e-9 ? 1.0 : 1 / sum;
  out.box.push_back(box);
  out.score.push_back(std::min(1.0, best * scale));
  for (std::size_t j = 0; j < classes; ++j) out.class_probs.push_back(row[4 + j] * scale);
}

}  // namespace

bool is_sim_file(const std::string& path) {
  return probe_json(path, [](JsonReader& json) {
    if (json.peek() != JsonReader::Type::object) return false;
    json.begin_object();
    while (json.next_member()) {
      const bool count = json.key() == "classes" || json.key() == "annotators";
      if (count) return json.peek() == JsonReader::Type::number;
      if (json.key() == "images" || json.key() == "annotations") return false;
      json.skip();
    }
    return false;
  });
}

Predictions read_sim_predictions(const std::string& path, const CrowdData& data) {
  std::ifstream in = open_input(path);
  JsonReader json(in, path);
  const std::size_t classes = data.classes.size();
  const IdTable ids = index_of(data.images);
  std::vector<Predictions> of_image(data.images.size());
  std::vector<double> row;
  json.begin_object();
  while (json.next_member()) {
    if (json.key() != "images") {
      json.skip();
      continue;
    }
    json.begin_array();
    while (json.next_element()) {
      std::int32_t image = -1;
      json.begin_object();
      while (json.next_member()) {
        if (json.key() == "id") {
          const RecordId id = read_id(json);
          image = ids.find(id);
          if (image < 0) json.fail_value("image " + id.shown() + " is not in the crowd data");
        } else if (json.key() == "predictions") {
          if (image < 0) json.fail_value("expected \"id\" before \"predictions\"");
          json.begin_array();
          while (json.next_element()) add_prediction(json, of_image[static_cast<std::size_t>(image)], classes, row);
        } else {
          json.skip();
        }
      }
    }
  }
  json.finish();
  Predictions out;
  out.num_classes = static_cast<int>(classes);
  out.begin.push_back(0);
  for (Predictions& part : of_image) {
    std::vector<std::size_t> order(part.box.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return part.score[a] > part.score[b]; });
    for (const std::size_t n : order) {
      out.box.push_back(part.box[n]);
      out.score.push_back(part.score[n]);
      const auto first = part.class_probs.begin() + static_cast<std::ptrdiff_t>(n * classes);
      out.class_probs.insert(out.class_probs.end(), first, first + static_cast<std::ptrdiff_t>(classes));
    }
    out.begin.push_back(out.box.size());
    part = {};
  }
  return out;
}

SimulatedCrowd read_simulated_crowd(const std::string& path) {
  ReadOptions options;
  options.format = "sim";
  SimulatedCrowd found;
  found.crowd = read_crowd({path}, options);
  found.predictions = read_sim_predictions(path, found.crowd);
  return found;
}

CrowdFormat sim_format() {
  return {"sim",       "simulated crowd JSON: crowd, truth and predictions in one file",
          is_sim_file, parse_sim,
          read_sim,    nullptr,
          nullptr};
}

}  // namespace bdc
