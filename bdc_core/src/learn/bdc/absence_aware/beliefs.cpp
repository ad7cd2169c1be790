#include <algorithm>
#include <cmath>
#include <iterator>

#include "bdc/learn/bdc/absence_aware.h"
#include "learn/bdc/absence_aware/image_state.h"
#include "learn/bdc/absence_aware/object_rate.h"
#include "learn/bdc/absence_aware/own_labels.h"
#include "learn/bdc/absence_aware/source_update.h"
#include "learn/bdc/absence_aware/worklists.h"

namespace bdc {
namespace {

/// Columns for the classes each annotator used, the extra ones, and all classes for the detector.
ConfusionColumns columns_in_use(const CrowdData& crowd, bool has_detector, const ConfusionColumns* extra) {
  const std::size_t K = crowd.annotators.size(), J = crowd.classes.size();
  std::vector<std::size_t> begin(K + 1, 0);
  for (const Annotation& a : crowd.annotations) ++begin[static_cast<std::size_t>(a.annotator) + 1];
  for (std::size_t k = 0; k < K; ++k) begin[k + 1] += begin[k];
  std::vector<std::int32_t> labels(crowd.annotations.size());
  std::vector<std::size_t> next(begin.begin(), begin.end() - 1);
  for (const Annotation& a : crowd.annotations) labels[next[static_cast<std::size_t>(a.annotator)]++] = a.label;
  ConfusionColumns columns;
  columns.num_classes = J;
  columns.begin.push_back(0);
  for (std::size_t k = 0; k < K; ++k) {
    const auto first = labels.begin() + static_cast<std::ptrdiff_t>(begin[k]);
    auto last = labels.begin() + static_cast<std::ptrdiff_t>(begin[k + 1]);
    std::sort(first, last);
    last = std::unique(first, last);
    if (extra == nullptr || k >= extra->num_annotators()) {
      columns.label.insert(columns.label.end(), first, last);
    } else {
      std::set_union(first, last, extra->label.begin() + static_cast<std::ptrdiff_t>(extra->begin[k]),
                     extra->label.begin() + static_cast<std::ptrdiff_t>(extra->begin[k + 1]),
                     std::back_inserter(columns.label));
    }
    columns.begin.push_back(columns.label.size());
  }
  if (has_detector) {
    for (std::size_t l = 0; l < J; ++l) columns.label.push_back(static_cast<std::int32_t>(l));
    columns.begin.push_back(columns.label.size());
  }
  columns.label.shrink_to_fit();
  columns.value.assign(columns.label.size() * J, 0.0);
  return columns;
}

double median_size(const CrowdData& crowd, double (Box::*size)() const) {
  std::vector<double> values;
  values.reserve(crowd.annotations.size());
  for (const Annotation& a : crowd.annotations) {
    if (a.box.valid()) values.push_back((a.box.*size)());
  }
  if (values.empty()) return 1;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// Whether at least half of the looks at images, of sources that draw, were at images that another such source saw too.
bool is_corroborated(const CrowdData& crowd, const AbsenceAwareBeliefs& beliefs) {
  std::size_t looks = 0, shared = 0;
  for (std::size_t i = 0; i + 1 < crowd.assignment_begin.size(); ++i) {
    std::size_t sources = beliefs.has_detector ? 1 : 0;
    for (std::size_t n = crowd.assignment_begin[i]; n < crowd.assignment_begin[i + 1]; ++n) {
      sources += absence_aware::draws(beliefs, crowd.assignments[n].annotator) ? 1 : 0;
    }
    looks += sources;
    if (sources > 1) shared += sources;
  }
  return 2 * shared >= looks;
}

}  // namespace

AbsenceAwareBeliefs initial_beliefs(const CrowdData& crowd, bool has_detector, const ConfusionColumns* extra) {
  AbsenceAwareBeliefs b;
  b.annotators = crowd.annotators.size();
  b.classes = crowd.classes.size();
  b.has_detector = has_detector;
  const std::size_t J = b.classes;
  b.priors.reference_size = {median_size(crowd, &Box::width), median_size(crowd, &Box::height)};
  b.priors.wrong_share = WrongShares::even(J);
  b.priors.ease.assign(J, 1.0);
  b.priors.wrong_strength = 0.5 * static_cast<double>(J > 1 ? J - 1 : 1);
  b.priors.right_strength = 1.5 * b.priors.wrong_strength;
  b.source.resize(b.sources());
  b.log_class.resize(J);
  b.class_weight.assign(J, 1.0);
  AbsenceAwareEvidence nothing;
  nothing.source.resize(b.sources());
  nothing.class_count.assign(J, 0.0);
  for (SourceBelief& s : b.source) {
    s.right_strength = b.priors.right_strength;
    s.wrong_strength = b.priors.wrong_strength;
  }
  absence_aware::set_source_posteriors(nothing, b);
  b.log_confusion = columns_in_use(crowd, has_detector, extra);
  ConfusionCells none;
  none.begin.assign(b.log_confusion.label.size() + 1, 0);
  absence_aware::set_confusion_posteriors(none, b, 1);
  absence_aware::keep_label_counts(std::move(none), b);
  for (std::size_t k = 0; k < b.source.size(); ++k) {
    b.source[k].draws = b.log_confusion.begin[k + 1] > b.log_confusion.begin[k];
  }
  b.corroborated = is_corroborated(crowd, b);
  b.worklist = absence_aware::find_worklists(crowd);
  return b;
}

AbsenceAwareEvidence empty_evidence(const AbsenceAwareBeliefs& beliefs) {
  AbsenceAwareEvidence e;
  e.source.resize(beliefs.sources());
  e.confusion.num_classes = beliefs.classes;
  e.confusion.begin = beliefs.log_confusion.begin;
  e.confusion.label = beliefs.log_confusion.label;
  e.confusion.value.assign(beliefs.log_confusion.value.size(), 0.0);
  e.class_count.assign(beliefs.classes, 0.0);
  return e;
}

void update_beliefs(AbsenceAwareBeliefs& beliefs, const AbsenceAwareEvidence& evidence, int threads) {
  for (std::size_t k = 0; k < beliefs.source.size(); ++k) {
    beliefs.source[k].active = evidence.source[k].images > 0 || evidence.source[k].boxes > 0;
  }
  absence_aware::fit_source_priors(evidence.source, beliefs, threads);
  absence_aware::set_object_rates(evidence, beliefs.priors);
  absence_aware::set_source_posteriors(evidence, beliefs);
  ConfusionCells cells = absence_aware::cells_of(evidence.confusion);
  absence_aware::fit_confusion_priors(beliefs.log_confusion, cells, beliefs, false, threads);
  absence_aware::set_confusion_posteriors(cells, beliefs, threads);
  absence_aware::keep_label_counts(std::move(cells), beliefs);
}

double bound_of_evidence(const AbsenceAwareBeliefs& beliefs, const AbsenceAwareEvidence& evidence) {
  return evidence.image_bound + absence_aware::global_bound(beliefs);
}

}  // namespace bdc
