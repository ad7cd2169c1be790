#include "bdc/learn/relabelling.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "bdc/learn/annotator_clusters.h"
#include "bdc/learn/annotator_figures.h"
#include "bdc/learn/learners.h"

namespace bdc {
namespace {

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// Deviation of an edge in box sizes.
double edge_noise(const AnnotatorPosteriors& posteriors, std::size_t k) {
  if (learner_traits(posteriors.profile).box_error.of_edges) return box_noise(posteriors, k);
  const auto precision = posteriors.box(k).precision();  // centre x, y, then width, height, which are relative
  return std::sqrt((1 / precision[2] + 1 / precision[3]) / 4);
}

double expected_overlap(const std::array<double, 4>& deviation, double width, double height) {
  return std::exp(-0.8 * ((deviation[0] + deviation[2]) / width + (deviation[1] + deviation[3]) / height));
}

/// Expected overlap now, and after one more box was averaged in.
std::array<double, 2> overlap_before_and_after(const Targets& targets, std::size_t n, double noise) {
  const double width = targets.box[n].width(), height = targets.box[n].height();
  if (targets.box_std.empty() || !(width > 0) || !(height > 0)) return {1, 1};
  const auto& now = targets.box_std[n];
  std::array<double, 4> then{};
  for (std::size_t e = 0; e < 4; ++e) {
    const double other = noise * (e % 2 == 0 ? width : height);
    then[e] = now[e] > 0 && other > 0 ? 1 / std::sqrt(1 / (now[e] * now[e]) + 1 / (other * other)) : 0;
  }
  return {expected_overlap(now, width, height), expected_overlap(then, width, height)};
}

}  // namespace

NextAnnotator median_annotator(const AnnotatorPosteriors& posteriors) {
  NextAnnotator out;
  std::vector<double> recall, spurious, accuracy, noise;
  for (std::size_t k = 0; k < posteriors.annotators.size(); ++k) {
    if (!(posteriors.annotators[k].annotations > 0)) continue;
    recall.push_back(posteriors.mean_recall(k));
    spurious.push_back(1 - std::exp(-posteriors.mean_spurious_per_image(k)));
    accuracy.push_back(posteriors.accuracy(k));
    noise.push_back(edge_noise(posteriors, k));
  }
  if (recall.empty()) return out;
  if (posteriors.tells_recall()) {
    out.recall = median(recall);
    out.spurious = median(spurious);
    out.recall_learnt = true;
  }
  if (posteriors.tells_boxes()) {
    out.box_noise = median(noise);
    out.box_noise_learnt = true;
  }
  out.accuracy = median(accuracy);
  out.accuracy_learnt = true;
  return out;
}

double relabelling_gain(const Targets& targets, std::size_t n, const NextAnnotator& next) {
  const auto J = static_cast<std::size_t>(targets.num_classes);
  const double exists = std::clamp(targets.existence.empty() ? targets.weight[n] : targets.existence[n], 0.0, 1.0);
  const auto [overlap, overlap_after] = overlap_before_and_after(targets, n, next.box_noise);
  // The two most probable classes are all that the maxima below need.
  std::size_t first = 0;
  double top = -1, second = 0;
  for (std::size_t j = 0; j < J; ++j) {
    const double p = targets.class_prob(n, j);
    if (p > top) {
      second = std::max(second, top);
      top = p;
      first = j;
    } else {
      second = std::max(second, p);
    }
  }
  const double absent = 1 - exists;
  const double now = std::max(absent, exists * top * overlap);
  const double right = J > 1 ? next.accuracy : 1.0, wrong = J > 1 ? (1 - right) / static_cast<double>(J - 1) : 0.0;
  double then = std::max(absent * (1 - next.spurious), exists * top * (1 - next.recall) * overlap);
  for (std::size_t given = 0; given < J; ++given) {
    const double same = targets.class_prob(n, given) * right, other = (given == first ? second : top) * wrong;
    then += std::max(absent * next.spurious / static_cast<double>(J),
                     exists * next.recall * std::max(same, other) * overlap_after);
  }
  return std::max(0.0, then - now);
}

std::vector<RelabelItem> relabelling_order(const Targets& targets, const NextAnnotator& next) {
  std::vector<RelabelItem> out;
  out.reserve(targets.box.size());
  for (std::size_t i = 0; i + 1 < targets.begin.size(); ++i) {
    for (std::size_t n = targets.begin[i]; n < targets.begin[i + 1]; ++n) {
      out.push_back({n, static_cast<std::int32_t>(i), relabelling_gain(targets, n, next)});
    }
  }
  std::stable_sort(out.begin(), out.end(), [](const RelabelItem& a, const RelabelItem& b) { return a.gain > b.gain; });
  return out;
}

}  // namespace bdc
