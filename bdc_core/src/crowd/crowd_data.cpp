#include "bdc/crowd/crowd_data.h"

#include <algorithm>
#include <tuple>

#include "bdc/base/error.h"

namespace bdc {
namespace {

void require_index(std::int32_t index, std::size_t size, const char* what, std::size_t row, const char* list) {
  if (index < 0 || static_cast<std::size_t>(index) >= size) {
    throw DataError(std::string(list) + " " + std::to_string(row) + ": " + what + " index " + std::to_string(index) +
                    " is not in 0.." + std::to_string(size) + " (exclusive)");
  }
}

template <class Row>
std::vector<std::size_t> ranges_by_image(const std::vector<Row>& rows, std::size_t images) {
  std::vector<std::size_t> begin(images + 1, 0);
  for (const Row& row : rows) ++begin[static_cast<std::size_t>(row.image) + 1];
  for (std::size_t i = 0; i < images; ++i) begin[i + 1] += begin[i];
  return begin;
}

template <class Record>
void sort_by_image(std::vector<Record>& records, std::size_t images) {
  const auto before = [](const Record& a, const Record& b) { return a.image < b.image; };
  if (std::is_sorted(records.begin(), records.end(), before)) return;
  std::vector<std::size_t> next(images + 1, 0);
  for (const Record& record : records) ++next[static_cast<std::size_t>(record.image) + 1];
  for (std::size_t i = 0; i < images; ++i) next[i + 1] += next[i];
  std::vector<Record> sorted(records.size());
  for (const Record& record : records) sorted[next[static_cast<std::size_t>(record.image)]++] = record;
  records.swap(sorted);
}

}  // namespace

void CrowdData::finalize() {
  for (std::size_t n = 0; n < annotations.size(); ++n) {
    require_index(annotations[n].image, images.size(), "image", n, "annotation");
    require_index(annotations[n].label, classes.size(), "class", n, "annotation");
    require_index(annotations[n].annotator, annotators.size(), "annotator", n, "annotation");
  }
  for (std::size_t n = 0; n < assignments.size(); ++n) {
    require_index(assignments[n].image, images.size(), "image", n, "assignment");
    require_index(assignments[n].annotator, annotators.size(), "annotator", n, "assignment");
  }
  for (std::size_t n = 0; n < truth.size(); ++n) {
    require_index(truth[n].image, images.size(), "image", n, "truth");
    require_index(truth[n].label, classes.size(), "class", n, "truth");
  }
  has_truth = has_truth || !truth.empty();
  if (!has_truth) {
    truth_covers.clear();
  } else if (truth_covers.empty()) {
    truth_covers.assign(images.size(), 1);
  } else if (truth_covers.size() != images.size()) {
    throw DataError("truth_covers has " + std::to_string(truth_covers.size()) + " entries for " +
                    std::to_string(images.size()) + " images");
  }
  for (const TruthBox& t : truth) truth_covers[static_cast<std::size_t>(t.image)] = 1;
  sort_by_image(annotations, images.size());
  sort_by_image(truth, images.size());

  assignments.reserve(assignments.size() + annotations.size());
  for (const Annotation& a : annotations) assignments.push_back({a.image, a.annotator});
  sort_by_image(assignments, images.size());
  for (std::size_t first = 0, end = 0; first < assignments.size(); first = end) {
    while (end < assignments.size() && assignments[end].image == assignments[first].image) ++end;
    const auto at = assignments.begin();
    std::sort(at + static_cast<std::ptrdiff_t>(first), at + static_cast<std::ptrdiff_t>(end),
              [](const Assignment& a, const Assignment& b) { return a.annotator < b.annotator; });
  }
  const auto same = [](const Assignment& a, const Assignment& b) {
    return a.image == b.image && a.annotator == b.annotator;
  };
  assignments.erase(std::unique(assignments.begin(), assignments.end(), same), assignments.end());
  assignments.shrink_to_fit();

  annotation_begin = ranges_by_image(annotations, images.size());
  assignment_begin = ranges_by_image(assignments, images.size());
  truth_begin = ranges_by_image(truth, images.size());
}

std::vector<std::string> class_names(const CrowdData& data) {
  std::vector<std::string> names;
  names.reserve(data.classes.size());
  for (const ClassRecord& c : data.classes) names.push_back(c.name);
  return names;
}

}  // namespace bdc
