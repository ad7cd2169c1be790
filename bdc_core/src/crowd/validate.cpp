#include "bdc/crowd/validate.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <sstream>
#include <string_view>
#include <tuple>
#include <unordered_map>

#include "bdc/base/json_stream.h"
#include "bdc/base/text.h"
#include "bdc/crowd/clip_to_image.h"
#include "crowd/id_table.h"

namespace bdc {
namespace {

std::string shown(const Box& box) {
  return "(" + shortest_decimal(box.x1) + ", " + shortest_decimal(box.y1) + ") to (" + shortest_decimal(box.x2) + ", " +
         shortest_decimal(box.y2) + ")";
}

/// How a box lies in its image.
enum class Fit { inside, leaves, outside };

Fit fit_of(const Box& box, const ImageRecord& image, double tolerance) {
  const double w = image.width, h = image.height;
  if (!clip_to_size(box, w, h).valid()) return Fit::outside;
  const bool leaves = box.x1 < -tolerance || box.y1 < -tolerance || box.x2 > w + tolerance || box.y2 > h + tolerance;
  return leaves ? Fit::leaves : Fit::inside;
}

/// For each annotation of an image, whether an earlier one has the same annotator, class and box.
std::vector<std::size_t> repeated_annotations(const CrowdData& data, std::size_t image) {
  std::vector<std::size_t> rows(data.annotation_begin[image + 1] - data.annotation_begin[image]);
  std::iota(rows.begin(), rows.end(), data.annotation_begin[image]);
  const auto key = [&](std::size_t n) {
    const Annotation& a = data.annotations[n];
    return std::tie(a.annotator, a.label, a.box.x1, a.box.y1, a.box.x2, a.box.y2);
  };
  std::stable_sort(rows.begin(), rows.end(), [&](std::size_t a, std::size_t b) { return key(a) < key(b); });
  std::vector<std::size_t> repeated;
  for (std::size_t n = 1; n < rows.size(); ++n) {
    if (key(rows[n - 1]) == key(rows[n])) repeated.push_back(rows[n]);
  }
  std::sort(repeated.begin(), repeated.end());
  return repeated;
}

/// For each record whose text an earlier one has, its index and that of the first. Records without a text are none.
template <class Record>
std::vector<std::pair<std::size_t, std::size_t>> repeated_texts(const std::vector<Record>& records,
                                                                std::string Record::*text) {
  std::unordered_map<std::string_view, std::size_t> first;
  std::vector<std::pair<std::size_t, std::size_t>> repeated;
  for (std::size_t n = 0; n < records.size(); ++n) {
    if ((records[n].*text).empty()) continue;
    const auto [at, is_new] = first.emplace(records[n].*text, n);
    if (!is_new) repeated.emplace_back(n, at->second);
  }
  return repeated;
}

class Checker {
 public:
  Checker(const CrowdData& data, const ReadReport* places, const ValidateOptions& options, ProblemLog& problems)
      : data_(data), places_(places), options_(options), problems_(problems) {}

  void run() {
    for (std::size_t i = 0; i < data_.images.size(); ++i) check_image(i);
    check_image_files();
    check_annotators();
    check_class_names();
    check_classes();
  }

 private:
  template <class Message>
  void report(ProblemKind kind, const std::vector<RecordPlace> ReadReport::*list, std::size_t n,
              const Message& message) {
    problems_.report(kind, [&] {
      std::string where;
      if (places_ != nullptr && n < (places_->*list).size()) where = places_->text((places_->*list)[n]) + ": ";
      return where + message();
    });
  }

  [[nodiscard]] std::string image_name(std::size_t i) const {
    const ImageRecord& image = data_.images[i];
    return "image " + RecordId::from(image.id).shown() + (image.file.empty() ? "" : " (" + printable(image.file) + ")");
  }

  void check_image(std::size_t i) {
    const ImageRecord& image = data_.images[i];
    const bool sized = image.width > 0;
    if (!sized) {
      report(ProblemKind::image_without_size, &ReadReport::image_place, i,
             [&] { return image_name(i) + " has no width and height; aggregation needs them"; });
    }
    if (data_.annotation_begin[i] == data_.annotation_begin[i + 1]) {
      report(ProblemKind::image_without_annotations, &ReadReport::image_place, i, [&] {
        return image_name(i) + " has no annotations (" +
               counted(data_.assignment_begin[i + 1] - data_.assignment_begin[i], "annotator") + " saw it)";
      });
    }
    for (std::size_t n = data_.annotation_begin[i]; sized && n < data_.annotation_begin[i + 1]; ++n) {
      const Box& box = data_.annotations[n].box;
      const Fit fit = fit_of(box, image, options_.outside_tolerance);
      if (fit == Fit::inside) continue;
      const bool outside = fit == Fit::outside;
      report(outside ? ProblemKind::box_outside_image : ProblemKind::box_leaves_image, &ReadReport::annotation_place, n,
             [&] {
               return std::string("the box ") + shown(box) + (outside ? " lies outside " : " leaves ") + image_name(i) +
                      " of " + std::to_string(image.width) + " x " + std::to_string(image.height);
             });
    }
    for (const std::size_t n : repeated_annotations(data_, i)) {
      report(ProblemKind::duplicate_annotation, &ReadReport::annotation_place, n, [&] {
        const Annotation& a = data_.annotations[n];
        return "annotator " + RecordId::from(data_.annotators[static_cast<std::size_t>(a.annotator)].id).shown() +
               " drew the box " + shown(a.box) + " in " + image_name(i) + " before, with the same class";
      });
    }
  }

  void check_image_files() {
    for (const auto& [n, first] : repeated_texts(data_.images, &ImageRecord::file)) {
      report(ProblemKind::duplicate_image_file, &ReadReport::image_place, n, [&, n = n, first = first] {
        return image_name(n) + " has the file of image " + RecordId::from(data_.images[first].id).shown() +
               "; the labels of one picture count as those of two";
      });
    }
  }

  void check_class_names() {
    for (const auto& [n, first] : repeated_texts(data_.classes, &ClassRecord::name)) {
      report(ProblemKind::duplicate_class_name, &ReadReport::class_place, n, [&, n = n, first = first] {
        return "class " + RecordId::from(data_.classes[n].id).shown() + " has the name " +
               in_quotes(data_.classes[n].name) + " of class " + RecordId::from(data_.classes[first].id).shown() +
               "; they count as two classes";
      });
    }
  }

  void check_annotators() {
    std::vector<std::size_t> seen(data_.annotators.size(), 0);
    for (const Assignment& a : data_.assignments) ++seen[static_cast<std::size_t>(a.annotator)];
    for (std::size_t k = 0; k < seen.size(); ++k) {
      if (seen[k] > 1) continue;
      const auto name = [&] { return "annotator " + RecordId::from(data_.annotators[k].id).shown(); };
      if (seen[k] == 0) {
        report(ProblemKind::annotator_without_assignments, &ReadReport::annotator_place, k,
               [&] { return name() + " saw no image"; });
      } else {
        report(ProblemKind::annotator_with_one_image, &ReadReport::annotator_place, k,
               [&] { return name() + " saw one image, which says little about how well they draw"; });
      }
    }
  }

  void check_classes() {
    if (data_.annotations.empty()) return;
    std::vector<std::size_t> count(data_.classes.size(), 0);
    for (const Annotation& a : data_.annotations) ++count[static_cast<std::size_t>(a.label)];
    const auto most = static_cast<std::size_t>(std::max_element(count.begin(), count.end()) - count.begin());
    for (std::size_t j = 0; j < count.size(); ++j) {
      const auto name = [&](std::size_t c) { return "class " + in_quotes(data_.classes[c].name); };
      if (count[j] == 0) {
        report(ProblemKind::class_without_annotations, &ReadReport::class_place, j,
               [&] { return name(j) + " has no annotations"; });
      } else if (static_cast<double>(count[most]) >= options_.imbalance * static_cast<double>(count[j])) {
        report(ProblemKind::class_imbalance, &ReadReport::class_place, j, [&] {
          return name(j) + " has " + std::to_string(count[j]) + " annotations, " + name(most) + " has " +
                 std::to_string(count[most]);
        });
      }
    }
  }

  const CrowdData& data_;
  const ReadReport* places_;
  const ValidateOptions& options_;
  ProblemLog& problems_;
};

constexpr ProblemKind dropped_by_readers[] = {
    ProblemKind::bad_record,     ProblemKind::unknown_image, ProblemKind::unknown_class, ProblemKind::unknown_annotator,
    ProblemKind::not_finite_box, ProblemKind::extreme_box,   ProblemKind::inverted_box,  ProblemKind::empty_box,
};

}  // namespace

void check_crowd(const CrowdData& data, const ReadReport* places, const ValidateOptions& options,
                 ProblemLog& problems) {
  Checker(data, places, options, problems).run();
}

ValidationReport validate_crowd(const std::vector<std::string>& paths, const ReadOptions& options,
                                const ValidateOptions& validate, CrowdData* data) {
  ValidationReport report;
  report.problems = ProblemLog(ProblemLog::Mode::lenient, validate.examples_per_kind);
  ReadOptions lenient = options;
  lenient.problems = &report.problems;
  ReadReport places;
  CrowdData found = read_crowd(paths, lenient, &places);
  if (found.images.empty() && report.problems.entry(ProblemKind::unreadable_file).count == 0 &&
      report.problems.entry(ProblemKind::no_images).count == 0) {
    report.problems.report(ProblemKind::no_images, [&] {
      return paths.front() + ": expected images, found none (read as " + in_quotes(places.format) + ")";
    });
  }
  check_crowd(found, &places, validate, report.problems);
  report.format = places.format;
  report.files = places.files.size();
  report.images = found.images.size();
  report.classes = found.classes.size();
  report.annotators = found.annotators.size();
  report.annotations = found.annotations.size();
  report.assignments = found.assignments.size();
  report.assignments_known = found.assignments_known;
  report.true_boxes = found.truth.size();
  if (data != nullptr) *data = std::move(found);
  return report;
}

std::string ValidationReport::text() const {
  std::ostringstream out;
  out << "format " << format << ", " << files << (files == 1 ? " file" : " files") << "\n"
      << counted(images, "image") << ", " << counted(classes, "class", "classes") << ", "
      << counted(annotators, "annotator") << ", " << counted(annotations, "annotation") << ", "
      << counted(assignments, "assignment") << (assignments_known ? "" : " (guessed: who drew)");
  if (true_boxes > 0) out << ", " << counted(true_boxes, "true box", "true boxes");
  out << "\n";
  for (const Severity severity : {Severity::error, Severity::warning}) {
    for (std::size_t n = 0; n < problem_kinds; ++n) {
      const ProblemInfo& info = problem_info(static_cast<ProblemKind>(n));
      const ProblemLog::Entry& entry = problems.entry(info.kind);
      if (info.severity != severity || entry.count == 0) continue;
      out << (severity == Severity::error ? "error" : "warning") << ": " << counted(entry.count, info.one, info.title)
          << " [" << info.code << "]\n";
      for (const std::string& example : entry.examples) out << "    " << example << "\n";
      if (entry.count > entry.examples.size() && !entry.examples.empty()) {
        out << "    ... and " << entry.count - entry.examples.size() << " more\n";
      }
    }
  }
  out << errors() << (errors() == 1 ? " error, " : " errors, ") << warnings()
      << (warnings() == 1 ? " warning\n" : " warnings\n");
  return out.str();
}

std::string ValidationReport::json() const {
  std::ostringstream out;
  {
    JsonWriter json(out);
    const auto number = [](std::size_t n) { return static_cast<std::int64_t>(n); };
    json.begin_object().key("format").string(format).key("files").integer(number(files));
    json.key("images").integer(number(images)).key("classes").integer(number(classes));
    json.key("annotators").integer(number(annotators)).key("annotations").integer(number(annotations));
    json.key("assignments").integer(number(assignments)).key("assignments_known").boolean(assignments_known);
    json.key("true_boxes").integer(number(true_boxes));
    json.key("errors").integer(number(errors())).key("warnings").integer(number(warnings()));
    json.key("problems").begin_array();
    for (std::size_t n = 0; n < problem_kinds; ++n) {
      const ProblemInfo& info = problem_info(static_cast<ProblemKind>(n));
      const ProblemLog::Entry& entry = problems.entry(info.kind);
      if (entry.count == 0) continue;
      json.begin_object().key("code").string(info.code);
      json.key("severity").string(info.severity == Severity::error ? "error" : "warning");
      json.key("count").integer(number(entry.count)).key("examples").begin_array();
      for (const std::string& example : entry.examples) json.string(example);
      json.end_array().end_object();
    }
    json.end_array().end_object();
  }
  return out.str();
}

FixReport fix_crowd(CrowdData& data, const ValidationReport* validation, const ValidateOptions& options) {
  FixReport report;
  if (validation != nullptr) {
    const ProblemLog::Entry& unreadable = validation->problems.entry(ProblemKind::unreadable_file);
    if (unreadable.count > 0) {
      throw DataError((unreadable.examples.empty() ? std::string("a file cannot be read to the end")
                                                   : unreadable.examples.front()) +
                      "\n  nothing was fixed: what follows the break would be lost; repair the file first");
    }
    const ProblemLog::Entry& misnamed = validation->problems.entry(ProblemKind::misnamed_annotator);
    if (misnamed.count > 0) {
      throw DataError((misnamed.examples.empty() ? std::string("annotators are not under annotator_id")
                                                 : misnamed.examples.front()) +
                      "\n  nothing was fixed: who drew what would be lost; say which member it is first");
    }
    for (const ProblemKind kind : dropped_by_readers)
      report.dropped_on_reading += validation->problems.entry(kind).count;
  }
  std::vector<char> drop(data.annotations.size(), 0);
  for (std::size_t i = 0; i < data.images.size(); ++i) {
    for (const std::size_t n : repeated_annotations(data, i)) {
      drop[n] = 1;
      ++report.dropped_duplicates;
    }
    const bool is_sized = data.images[i].width > 0;
    for (std::size_t n = data.annotation_begin[i]; is_sized && n < data.annotation_begin[i + 1]; ++n) {
      if (drop[n] != 0) continue;
      Box& box = data.annotations[n].box;
      if (fit_of(box, data.images[i], options.outside_tolerance) == Fit::outside) {
        drop[n] = 1;
        ++report.dropped_outside;
        continue;
      }
      const Box clipped = clip_to_image(box, data.images[i]);
      if (!(clipped == box)) ++report.clipped;
      box = clipped;
    }
  }
  std::size_t kept = 0;
  for (std::size_t n = 0; n < data.annotations.size(); ++n) {
    if (drop[n] == 0) data.annotations[kept++] = data.annotations[n];
  }
  data.annotations.resize(kept);
  data.finalize();
  return report;
}

std::string FixReport::text() const {
  std::ostringstream out;
  out << "  " << clipped << " boxes clipped to their images\n"
      << "  " << dropped_outside << " boxes outside their images dropped\n"
      << "  " << dropped_duplicates << " repeated annotations dropped\n"
      << "  " << dropped_on_reading << " records that could not be used left out\n";
  return out.str();
}

}  // namespace bdc
