#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "bdc/crowd/crowd_data.h"
#include "bdc/crowd/crowd_io.h"
#include "bdc/crowd/problems.h"

namespace bdc {

struct ValidateOptions {
  std::size_t examples_per_kind = 5;
  double imbalance = 100;           ///< a class this many times rarer than the most frequent one is a warning
  double outside_tolerance = 0.01;  ///< pixels by which a box may leave its image: rounding, not an error
};

/// What validate_crowd found.
struct ValidationReport {
  std::string format;
  std::size_t files = 0, images = 0, classes = 0, annotators = 0, annotations = 0, assignments = 0, true_boxes = 0;
  bool assignments_known = false;
  ProblemLog problems{ProblemLog::Mode::lenient};

  [[nodiscard]] std::size_t errors() const { return problems.count(Severity::error); }
  [[nodiscard]] std::size_t warnings() const { return problems.count(Severity::warning); }
  /// For people: the counts, then per kind of problem its severity, count, title and first examples.
  [[nodiscard]] std::string text() const;
  /// The same for programs: one JSON object.
  [[nodiscard]] std::string json() const;
};

/// Reads files leniently and checks what was read: all that ProblemKind lists. options.problems is not used.
/// data (may be null) receives what could be read. Throws DataError only when a path does not exist or its format is
/// not recognised.
[[nodiscard]] ValidationReport validate_crowd(const std::vector<std::string>& paths, const ReadOptions& options = {},
                                              const ValidateOptions& validate = {}, CrowdData* data = nullptr);

/// The checks alone, on data in memory; places (may be null) is what read_crowd reported for it.
void check_crowd(const CrowdData& data, const ReadReport* places, const ValidateOptions& options, ProblemLog& problems);

/// What fix_crowd did.
struct FixReport {
  std::size_t clipped = 0;             ///< boxes cut at the image's border
  std::size_t dropped_outside = 0;     ///< boxes with no part inside the image
  std::size_t dropped_duplicates = 0;  ///< annotations that repeat one of the same annotator
  std::size_t dropped_on_reading = 0;  ///< records that lenient reading left out

  [[nodiscard]] std::string text() const;
};

/// Clips annotations to their images and drops those outside and repeated ones; assignments and truth stay. What a
/// lenient reader has left out (broken, empty, inverted boxes, unknown classes) is counted from `validation` when
/// given. Throws DataError, and changes nothing, when `validation` names a file that could not be read to its end: the
/// records behind the break are not in `data` and would be lost.
FixReport fix_crowd(CrowdData& data, const ValidationReport* validation = nullptr, const ValidateOptions& options = {});

}  // namespace bdc
