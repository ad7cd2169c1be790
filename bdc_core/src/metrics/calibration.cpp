#include "bdc/metrics/calibration.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "bdc/base/error.h"

namespace bdc {
namespace {

double mean_over_bins(const Calibration& c, double CalibrationBin::*figure) {
  double sum = 0;
  for (const CalibrationBin& bin : c.bins) sum += static_cast<double>(bin.count) * bin.*figure;
  return c.count == 0 ? 0.0 : sum / static_cast<double>(c.count);
}

}  // namespace

double Calibration::mean_confidence() const {
  return mean_over_bins(*this, &CalibrationBin::mean_confidence);
}

double Calibration::share_correct() const {
  return mean_over_bins(*this, &CalibrationBin::share_correct);
}

Calibration calibrate(Span<const double> confidence, Span<const char> correct, std::size_t bins) {
  if (bins == 0) throw std::invalid_argument("calibrate: at least one bin is needed");
  if (confidence.size() != correct.size()) throw std::invalid_argument("calibrate: lists of different length");
  Calibration result;
  result.bins.resize(bins);
  result.count = confidence.size();
  for (std::size_t b = 0; b < bins; ++b) {
    result.bins[b].low = static_cast<double>(b) / static_cast<double>(bins);
    result.bins[b].high = static_cast<double>(b + 1) / static_cast<double>(bins);
  }
  for (std::size_t n = 0; n < confidence.size(); ++n) {
    const double p = confidence[n];
    if (!(p >= 0 && p <= 1)) {
      throw std::invalid_argument("calibrate: confidence " + std::to_string(p) + " is not in 0..1");
    }
    CalibrationBin& bin = result.bins[std::min(bins - 1, static_cast<std::size_t>(p * static_cast<double>(bins)))];
    ++bin.count;
    bin.mean_confidence += p;
    bin.share_correct += correct[n] != 0;
  }
  for (CalibrationBin& bin : result.bins) {
    if (bin.count == 0) continue;
    const double count = static_cast<double>(bin.count);
    bin.mean_confidence /= count;
    bin.share_correct /= count;
    const double error = std::abs(bin.mean_confidence - bin.share_correct);
    result.expected_error += count / static_cast<double>(result.count) * error;
    result.largest_error = std::max(result.largest_error, error);
  }
  return result;
}

TargetCalibration calibrate_targets(const Targets& targets, const CrowdData& crowd, double match_iou, std::size_t bins,
                                    const std::vector<char>& evaluated) {
  if (!crowd.has_truth) throw DataError("calibration: the data set holds no truth; give a file that has it");
  if (targets.begin.size() != crowd.images.size() + 1 ||
      static_cast<std::size_t>(targets.num_classes) != crowd.classes.size()) {
    throw DataError("calibration: the targets are not of these images and classes");
  }
  if (!evaluated.empty() && evaluated.size() != crowd.images.size()) {
    throw DataError("calibration: " + std::to_string(crowd.images.size()) + " images, but " +
                    std::to_string(evaluated.size()) + " flags of which to evaluate");
  }
  const std::vector<double>& existence = targets.existence.empty() ? targets.score : targets.existence;
  const std::vector<double>& located = targets.located.empty() ? existence : targets.located;
  std::vector<double> class_confidence, existence_confidence, located_confidence;
  std::vector<char> class_correct, existence_correct;
  std::vector<std::size_t> order;
  std::vector<char> taken;
  for (std::size_t i = 0; i < crowd.images.size(); ++i) {
    if (evaluated.empty() ? !crowd.truth_covers.empty() && crowd.truth_covers[i] == 0 : evaluated[i] == 0) continue;
    const std::size_t first = crowd.truth_begin[i], end = crowd.truth_begin[i + 1];
    order.clear();
    for (std::size_t t = targets.begin[i]; t < targets.begin[i + 1]; ++t) order.push_back(t);
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return existence[a] > existence[b]; });
    taken.assign(end - first, 0);
    for (const std::size_t t : order) {
      const Box& box = targets.box[t];
      std::size_t best = end;
      double best_iou = match_iou;
      bool on_crowd = false;
      for (std::size_t g = first; g < end; ++g) {
        if (crowd.truth[g].is_crowd) {
          on_crowd = on_crowd || intersection(box, crowd.truth[g].box) >= match_iou * box.area();
          continue;
        }
        if (taken[g - first]) continue;
        const double value = iou(box, crowd.truth[g].box);
        if (value >= best_iou && (best == end || value > best_iou)) {
          best = g;
          best_iou = value;
        }
      }
      if (best == end && on_crowd) continue;
      existence_confidence.push_back(std::clamp(existence[t], 0.0, 1.0));
      located_confidence.push_back(std::clamp(located[t], 0.0, 1.0));
      existence_correct.push_back(best != end);
      if (best == end) continue;
      taken[best - first] = 1;
      const std::int32_t label = targets.label(t);
      class_confidence.push_back(std::clamp(targets.class_prob(t, static_cast<std::size_t>(label)), 0.0, 1.0));
      class_correct.push_back(label == crowd.truth[best].label);
    }
  }
  return {calibrate(class_confidence, class_correct, bins), calibrate(existence_confidence, existence_correct, bins),
          calibrate(located_confidence, existence_correct, bins)};
}

}  // namespace bdc
