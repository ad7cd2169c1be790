#pragma once

#include <cstddef>
#include <vector>

#include "bdc/base/span.h"
#include "bdc/crowd/crowd_data.h"
#include "bdc/crowd/targets.h"

namespace bdc {

/// One bin of a reliability diagram.
struct CalibrationBin {
  double low = 0, high = 0;
  std::size_t count = 0;
  double mean_confidence = 0;  ///< 0 when empty
  double share_correct = 0;
};

struct Calibration {
  double expected_error = 0;  ///< ECE: sum of count / total * |mean_confidence - share_correct|; 0 without samples
  double largest_error = 0;   ///< over the bins that are not empty
  /// 90 % interval of expected_error, by resampling images: filled by calibrate_targets when it is asked to.
  double error_low = 0, error_high = 0;
  std::size_t count = 0;
  std::vector<CalibrationBin> bins;

  // Over all samples; 0 without any.
  [[nodiscard]] double mean_confidence() const;
  [[nodiscard]] double share_correct() const;
};

/// Bins of equal width over [0, 1]; confidence 1 falls into the last. Throws std::invalid_argument for a confidence
/// outside [0, 1], lists of different length, or no bins.
[[nodiscard]] Calibration calibrate(Span<const double> confidence, Span<const char> correct, std::size_t bins = 15);

struct TargetCalibration {
  Calibration
      classes;  ///< largest class probability against "the class is the true one", over targets tied to an object
  Calibration
      existence;  ///< existence (where the method has none: score) against "an object is there", over all targets
  /// `located` (where the method has none: the same as existence) against "an object is there, overlapping by
  /// match_iou".
  Calibration located;
};

/// Targets are tied to objects of any class, best existence first, by the largest IoU of at least match_iou among the
/// free ones; crowds are left out, and so are targets that overlap one by at least match_iou of their own area.
/// evaluated: one flag per image, or empty for those the truth covers. resamples: of the images, for intervals of the
/// errors; the same ones every time; 0: no intervals. Throws DataError when there is no truth or it does not fit.
[[nodiscard]] TargetCalibration calibrate_targets(const Targets& targets, const CrowdData& crowd,
                                                  double match_iou = 0.5, std::size_t bins = 15,
                                                  const std::vector<char>& evaluated = {}, int resamples = 0);

/// Resamples that give an interval's ends to about a tenth of its length.
inline constexpr int kErrorResamples = 200;

}  // namespace bdc
