#include "bdc/metrics/measured_annotators.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "bdc/base/error.h"

namespace bdc {
namespace {

struct ErrorSums {
  std::array<double, 4> sum{}, squares{};
};

void add_tie(const Box& drawn, const Box& object, ErrorSums& sums) {
  const std::array<double, 4> error = {
      (drawn.x1 - object.x1) / object.width(), (drawn.y1 - object.y1) / object.height(),
      (drawn.x2 - object.x2) / object.width(), (drawn.y2 - object.y2) / object.height()};
  for (std::size_t e = 0; e < 4; ++e) {
    sums.sum[e] += error[e];
    sums.squares[e] += error[e] * error[e];
  }
}

/// Ties the boxes of one annotator in one image.
void tie(const std::vector<const Annotation*>& boxes, const std::vector<const TruthBox*>& truth, double match_iou,
         MeasuredAnnotator& out, ErrorSums& sums) {
  std::vector<std::tuple<double, std::size_t, std::size_t>> pairs;
  for (std::size_t b = 0; b < boxes.size(); ++b) {
    for (std::size_t t = 0; t < truth.size(); ++t) {
      const double overlap = iou(boxes[b]->box, truth[t]->box);
      if (overlap >= match_iou) pairs.emplace_back(-overlap, b, t);
    }
  }
  std::sort(pairs.begin(), pairs.end());
  std::vector<char> box_used(boxes.size(), 0), truth_used(truth.size(), 0);
  for (const auto& [negative, b, t] : pairs) {
    if (box_used[b] || truth_used[t]) continue;
    box_used[b] = truth_used[t] = 1;
    ++out.found;
    if (boxes[b]->label == truth[t]->label) ++out.right_class;
    add_tie(boxes[b]->box, truth[t]->box, sums);
  }
}

}  // namespace

double MeasuredAnnotator::box_noise() const {
  double variance = 0;
  for (const double d : deviation) variance += d * d;
  return std::sqrt(variance / 4);
}

std::vector<MeasuredAnnotator> measure_annotators(const CrowdData& crowd, double match_iou) {
  if (!crowd.has_truth) throw DataError("annotators can only be measured against the truth; there is none");
  std::vector<MeasuredAnnotator> out(crowd.annotators.size());
  std::vector<ErrorSums> sums(out.size());
  for (std::size_t i = 0; i < crowd.images.size(); ++i) {
    if (!crowd.truth_covers[i]) continue;
    std::vector<const TruthBox*> truth;
    for (std::size_t t = crowd.truth_begin[i]; t < crowd.truth_begin[i + 1]; ++t) {
      if (!crowd.truth[t].is_crowd && crowd.truth[t].box.valid()) truth.push_back(&crowd.truth[t]);
    }
    std::vector<const Annotation*> drawn;
    for (std::size_t n = crowd.annotation_begin[i]; n < crowd.annotation_begin[i + 1]; ++n) {
      drawn.push_back(&crowd.annotations[n]);
    }
    std::stable_sort(drawn.begin(), drawn.end(),
                     [](const Annotation* a, const Annotation* b) { return a->annotator < b->annotator; });
    for (std::size_t n = crowd.assignment_begin[i]; n < crowd.assignment_begin[i + 1]; ++n) {
      auto& who = out[static_cast<std::size_t>(crowd.assignments[n].annotator)];
      ++who.images;
      who.objects += truth.size();
    }
    for (auto from = drawn.begin(); from != drawn.end();) {
      const auto annotator = (*from)->annotator;
      const auto to = std::find_if(from, drawn.end(), [&](const Annotation* a) { return a->annotator != annotator; });
      auto& who = out[static_cast<std::size_t>(annotator)];
      who.boxes += static_cast<std::size_t>(to - from);
      tie({from, to}, truth, match_iou, who, sums[static_cast<std::size_t>(annotator)]);
      from = to;
    }
  }
  for (std::size_t k = 0; k < out.size(); ++k) {
    if (out[k].found == 0) continue;
    const auto count = static_cast<double>(out[k].found);
    for (std::size_t e = 0; e < 4; ++e) {
      out[k].bias[e] = sums[k].sum[e] / count;
      out[k].deviation[e] = std::sqrt(std::max(0.0, sums[k].squares[e] / count - out[k].bias[e] * out[k].bias[e]));
    }
  }
  return out;
}

}  // namespace bdc
