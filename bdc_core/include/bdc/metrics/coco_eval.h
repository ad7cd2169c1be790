#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace bdc {

/// A box as COCO files hold it: left, top, width, height in pixels. Kept in this form so that areas, and with them an
/// overlap that equals a threshold, have the very bits pycocotools computes.
struct CocoBox {
  double x = 0, y = 0, width = 0, height = 0;
};

struct CocoDetection {
  CocoBox box;
  double score = 0;
  std::int32_t image = 0;  ///< 0 .. images-1, in the order of the images' ids: equal scores keep this order
  std::int32_t label = 0;  ///< 0 .. classes-1
};

struct CocoTruth {
  CocoBox box;
  double area = 0;  ///< decides the area range; COCO's `area` field, which need not be width * height
  std::int32_t image = 0;
  std::int32_t label = 0;
  bool is_crowd = false;
};

/// Objects and detections with low <= area <= high belong to the range.
struct AreaRange {
  std::string name;
  double low = 0, high = 0;
};

/// count values from first to last, computed as numpy's linspace does (first + i * step, the last one exact).
[[nodiscard]] std::vector<double> evenly_spaced(double first, double last, int count);

struct CocoEvalOptions {
  std::vector<double> iou_thresholds = evenly_spaced(0.5, 0.95, 10);  ///< the means run over these
  std::vector<double> extra_ious;                                     ///< evaluated too, but left out of the means
  std::vector<int> max_detections{1, 10, 100};                        ///< per image and class; used in ascending order
  std::vector<AreaRange> area_ranges{
      {"all", 0, 1e10}, {"small", 0, 1024}, {"medium", 1024, 9216}, {"large", 9216, 1e10}};
  std::vector<double> curve_ious;  ///< precision-recall curves are kept at these; each must be one of the thresholds
  int threads = 0;                 ///< 0: all cores. The result has the same bits for any number.
};

/// Precision and score at the recalls 0, 0.01, ..., 1 (first area range, largest number of detections).
struct PrecisionRecallCurve {
  double iou = 0;
  std::int32_t label = 0;
  std::array<double, 101> precision{};  ///< 0 where the recall is not reached; all -1 when the class has no truth
  std::array<double, 101> score{};
};

/// The numbers of one class; -1 where undefined (no object that counts).
struct CocoClassResult {
  double ap = -1, ap50 = -1, ap75 = -1;                    ///< first area range, largest number of detections
  std::vector<double> ap_per_area, ar_per_area;            ///< one per area range, largest number of detections
  std::vector<double> ar_per_max_detections;               ///< first area range
  std::vector<double> ap_per_iou, recall_per_iou;          ///< one per iou_thresholds
  std::vector<double> ap_per_extra_iou, recall_per_extra;  ///< one per extra_ious
  std::size_t truth_count = 0;                             ///< objects of the first area range that are not crowds
};

struct CocoEvalResult {
  /// AP, AP50, AP75, AP small, medium, large, AR with 1, 10, 100 detections, AR small, medium, large: pycocotools'
  /// twelve. -1 where undefined or where the options leave out the threshold, range or limit it needs.
  std::array<double, 12> stats{};
  std::vector<CocoClassResult> classes;
  std::vector<PrecisionRecallCurve> curves;  ///< class by class, in the order of curve_ious

  /// Means over the classes that have truth, at threshold t of iou_thresholds followed by extra_ious, area range a,
  /// limit m (ascending): index (t * areas + a) * limits + m. -1 where undefined.
  std::vector<double> mean_precision, mean_recall;
  std::size_t areas = 0, limits = 0;
  [[nodiscard]] double ap_at(std::size_t threshold, std::size_t area, std::size_t limit) const {
    return mean_precision.at((threshold * areas + area) * limits + limit);
  }
  [[nodiscard]] double ar_at(std::size_t threshold, std::size_t area, std::size_t limit) const {
    return mean_recall.at((threshold * areas + area) * limits + limit);
  }
};

/// Names of CocoEvalResult::stats, in order: "AP", "AP50", ..., "AR_large".
[[nodiscard]] const std::array<const char*, 12>& coco_stat_names();

/// COCO's bounding box evaluation (the rules of pycocotools' COCOeval, iouType "bbox"): per image and class the best
/// detections take, in the order of their scores, the free object they overlap most; objects outside the area range
/// and crowds neither help nor hurt; AP is the mean of the interpolated precision at 101 recalls.
/// Throws std::invalid_argument for an index out of range, a score or box that is not finite, an empty option list, or
/// a curve at a threshold that is not evaluated.
[[nodiscard]] CocoEvalResult coco_evaluate(const std::vector<CocoDetection>& detections,
                                           const std::vector<CocoTruth>& truth, std::size_t images, std::size_t classes,
                                           const CocoEvalOptions& options = {});

}  // namespace bdc
