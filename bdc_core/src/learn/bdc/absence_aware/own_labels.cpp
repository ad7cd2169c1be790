#include "learn/bdc/absence_aware/own_labels.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "bdc/base/special_functions.h"
#include "learn/bdc/absence_aware/single_boxes.h"

namespace bdc::absence_aware {
namespace {

/// The entry of `true_class` in column c of sparse columns, or `otherwise`.
double entry(const std::vector<std::size_t>& begin, const std::vector<std::int32_t>& true_class,
             const std::vector<double>& value, std::size_t c, std::size_t j, double otherwise) {
  const auto first = true_class.begin() + static_cast<std::ptrdiff_t>(begin[c]);
  const auto end = true_class.begin() + static_cast<std::ptrdiff_t>(begin[c + 1]);
  const auto at = std::lower_bound(first, end, static_cast<std::int32_t>(j));
  if (at == end || *at != static_cast<std::int32_t>(j)) return otherwise;
  return value[static_cast<std::size_t>(at - true_class.begin())];
}

/// What E ln pi_jl of a label's giver loses when a share `own` of that label is not counted as one of class j.
double loss_without(const AbsenceAwareBeliefs& b, const Item& item, std::size_t j, double own) {
  const SourceBelief& s = b.source[static_cast<std::size_t>(item.source)];
  const auto l = static_cast<std::size_t>(item.label);
  const WrongShares& shares = b.priors.wrong_share;
  const ConfusionCells& cells = b.labels.cells;
  const double prior =
      j == l ? s.right_strength * b.priors.ease[j]
             : s.wrong_strength * entry(shares.begin, shares.true_class, shares.share, l, j, shares.floor[j]);
  const double counted = entry(cells.begin, cells.true_class, cells.count, item.column, j, 0.0);
  const double all = s.right_strength * b.priors.ease[j] + s.wrong_strength +
                     b.labels.of_class[static_cast<std::size_t>(item.source) * b.classes + j];
  own = std::min(own, counted);
  return digamma(prior + counted) - digamma(prior + counted - own) - (digamma(all) - digamma(all - own));
}

}  // namespace

void keep_label_counts(ConfusionCells cells, AbsenceAwareBeliefs& b) {
  b.labels.of_class.assign(b.sources() * b.classes, 0.0);
  for (std::size_t k = 0; k < b.sources(); ++k) {
    double* sums = b.labels.of_class.data() + k * b.classes;
    for (std::size_t n = cells.begin[b.log_confusion.begin[k]]; n < cells.begin[b.log_confusion.begin[k + 1]]; ++n) {
      sums[static_cast<std::size_t>(cells.true_class[n])] += cells.count[n];
    }
  }
  b.labels.cells = std::move(cells);
}

void leave_out_own_labels(const AbsenceAwareBeliefs& beliefs, const ImageItems& image, ImageState& state) {
  if (beliefs.labels.of_class.empty()) return;
  std::vector<double> log_class;
  for (Candidate& c : state.candidates) {
    if (is_single_box(c, image)) set_single_box_classes(beliefs, state.classes_of(c, beliefs.classes), c);
    if (!tells_of_classes(c, image)) continue;
    const ClassSet classes = state.classes_of(c, beliefs.classes);
    log_class.assign(classes.size(), -std::numeric_limits<double>::infinity());
    for (std::size_t u = 0; u < classes.size(); ++u) {
      const auto p = static_cast<double>(c.class_probs[u]);
      if (!(p > 0)) continue;
      log_class[u] = std::log(p);
      for (const std::int32_t n : c.members) {
        const Item& item = image.items[static_cast<std::size_t>(n)];
        if (item.class_probs != nullptr) continue;  // a prediction is spread over all columns of the detector
        log_class[u] -= item.weight * loss_without(beliefs, item, classes[u], item.weight * c.existence * p);
      }
    }
    const double top = *std::max_element(log_class.begin(), log_class.end());
    double sum = 0;
    for (double& x : log_class) sum += x = std::exp(x - top);
    for (std::size_t u = 0; u < classes.size(); ++u) c.class_probs[u] = static_cast<float>(log_class[u] / sum);
  }
}

}  // namespace bdc::absence_aware
