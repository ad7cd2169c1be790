#include "bdc/metrics/calibration.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "bdc/base/error.h"
#include "bdc/base/random.h"

namespace bdc {
namespace {

double mean_over_bins(const Calibration& c, double CalibrationBin::*figure) {
  double sum = 0;
  for (const CalibrationBin& bin : c.bins) sum += static_cast<double>(bin.count) * bin.*figure;
  return c.count == 0 ? 0.0 : sum / static_cast<double>(c.count);
}

std::size_t bin_of(double p, std::size_t bins) {
  return std::min(bins - 1, static_cast<std::size_t>(p * static_cast<double>(bins)));
}

/// What targets said and whether it was so, by image.
struct Samples {
  std::vector<double> confidence;
  std::vector<char> correct;
  std::vector<std::size_t> begin{0};  ///< images + 1

  void add(double p, bool is_so) {
    confidence.push_back(std::clamp(p, 0.0, 1.0));
    correct.push_back(is_so ? 1 : 0);
  }
  void end_image() { begin.push_back(confidence.size()); }
};

/// Sets the interval of c.expected_error: images are drawn with replacement, and the interval lies around the error as
/// the resampled errors lie around it, turned round. So it also takes off what chance alone adds to the error, which
/// resampling adds once more.
void set_interval(const Samples& samples, int resamples, Calibration& c) {
  const std::size_t images = samples.begin.size() - 1;
  if (c.count == 0 || resamples <= 0) return;
  Random random(1);
  std::vector<double> errors, gap(c.bins.size());
  for (int r = 0; r < resamples; ++r) {
    std::fill(gap.begin(), gap.end(), 0.0);
    double count = 0, sum = 0;
    for (std::size_t draw = 0; draw < images; ++draw) {
      const auto i = static_cast<std::size_t>(random.below(static_cast<std::int64_t>(images)));
      for (std::size_t n = samples.begin[i]; n < samples.begin[i + 1]; ++n) {
        gap[bin_of(samples.confidence[n], gap.size())] += samples.confidence[n] - samples.correct[n];
        count += 1;
      }
    }
    for (const double g : gap) sum += std::abs(g);
    errors.push_back(count > 0 ? sum / count : 0.0);
  }
  std::sort(errors.begin(), errors.end());
  const auto quantile = [&](double share) {
    return errors[static_cast<std::size_t>(share * static_cast<double>(errors.size() - 1) + 0.5)];
  };
  c.error_low = std::clamp(2 * c.expected_error - quantile(0.95), 0.0, 1.0);
  c.error_high = std::clamp(2 * c.expected_error - quantile(0.05), 0.0, 1.0);
}

Calibration calibrate(const Samples& samples, std::size_t bins, int resamples) {
  Calibration c = bdc::calibrate(samples.confidence, samples.correct, bins);
  set_interval(samples, resamples, c);
  return c;
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
    CalibrationBin& bin = result.bins[bin_of(p, bins)];
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
                                    const std::vector<char>& evaluated, int resamples) {
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
  Samples said_class, said_existence, said_located;
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
      said_existence.add(existence[t], best != end);
      said_located.add(located[t], best != end);
      if (best == end) continue;
      taken[best - first] = 1;
      const std::int32_t label = targets.label(t);
      said_class.add(targets.class_prob(t, static_cast<std::size_t>(label)), label == crowd.truth[best].label);
    }
    for (Samples* samples : {&said_class, &said_existence, &said_located}) samples->end_image();
  }
  return {calibrate(said_class, bins, resamples), calibrate(said_existence, bins, resamples),
          calibrate(said_located, bins, resamples)};
}

}  // namespace bdc
