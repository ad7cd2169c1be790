#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "bdc/base/error.h"

namespace bdc {

/// What can be wrong with crowd data. One row per kind stands in problem_info.
enum class ProblemKind {
  unreadable_file,
  no_images,
  bad_record,
  duplicate_id,
  conflicting_records,
  unknown_image,
  unknown_class,
  unknown_annotator,
  misnamed_annotator,
  not_finite_box,
  extreme_box,
  inverted_box,
  empty_box,
  box_outside_image,
  box_leaves_image,
  duplicate_annotation,
  duplicate_annotation_id,
  duplicate_image_file,
  duplicate_class_name,
  ignored_shape,
  image_without_size,
  image_without_annotations,
  annotator_without_assignments,
  annotator_with_one_image,
  class_without_annotations,
  class_imbalance,
};
constexpr std::size_t problem_kinds = 26;

/// An error makes data unfit for aggregation; a warning is worth a look.
enum class Severity { error, warning };

struct ProblemInfo {
  ProblemKind kind;
  const char* code;  ///< for scripts: "empty_box"
  Severity severity;
  const char* title;  ///< for people: "boxes without area"
  const char* one;    ///< the same of one: "box without area"
};
[[nodiscard]] const ProblemInfo& problem_info(ProblemKind kind);

/// Takes the problems that readers and the validator find. A strict log throws DataError at the first error, so a
/// reader stops there; a lenient one counts and keeps the first messages of each kind, and the reader goes on without
/// the record.
class ProblemLog {
 public:
  enum class Mode { strict, lenient };
  explicit ProblemLog(Mode mode, std::size_t examples_per_kind = 5) : mode_(mode), max_examples_(examples_per_kind) {}

  struct Entry {
    std::size_t count = 0;
    std::vector<std::string> examples;  ///< the first ones, "file:line: path: message"
  };

  /// `message` is a function that returns the text; it is called only when the text is needed.
  template <class Message>
  void report(ProblemKind kind, const Message& message) {
    Entry& entry = entries_[static_cast<std::size_t>(kind)];
    ++entry.count;
    const bool fatal = mode_ == Mode::strict && problem_info(kind).severity == Severity::error;
    if (fatal) throw DataError(message());
    if (entry.examples.size() < max_examples_) entry.examples.push_back(message());
  }

  [[nodiscard]] bool strict() const { return mode_ == Mode::strict; }
  [[nodiscard]] const Entry& entry(ProblemKind kind) const { return entries_[static_cast<std::size_t>(kind)]; }
  [[nodiscard]] std::size_t count(Severity severity) const;

 private:
  Mode mode_;
  std::size_t max_examples_;
  std::array<Entry, problem_kinds> entries_{};
};

}  // namespace bdc
