#include "bdc/metrics/coco_eval.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>

#include "bdc/base/parallel.h"

namespace bdc {
namespace {

constexpr std::size_t kRecalls = 101;

/// What a detection is at one area range and threshold.
enum Status : std::uint8_t { kFalse, kTrue, kIgnored };

/// Detections of one class on one image: positions[first..first+detections), best first; its truth likewise.
struct Cell {
  std::size_t first_detection = 0, first_truth = 0;
  std::int32_t detections = 0, truths = 0;
};

struct SortKey {
  double score;
  std::int32_t image;
  std::uint32_t index;
};

void check(const std::vector<CocoDetection>& detections, const std::vector<CocoTruth>& truth, std::size_t images,
           std::size_t classes, const CocoEvalOptions& options) {
  const auto fail = [](const std::string& what) { throw std::invalid_argument("coco_evaluate: " + what); };
  if (options.iou_thresholds.empty() || options.max_detections.empty() || options.area_ranges.empty()) {
    fail("iou_thresholds, max_detections and area_ranges must each have an entry");
  }
  for (const int limit : options.max_detections) {
    if (limit < 1) fail("max_detections must be at least 1, found " + std::to_string(limit));
  }
  const auto check_row = [&](const CocoBox& b, std::int32_t image, std::int32_t label, std::size_t row,
                             const char* list) {
    const std::string where = std::string(list) + " " + std::to_string(row) + ": ";
    if (image < 0 || static_cast<std::size_t>(image) >= images) fail(where + "no image " + std::to_string(image));
    if (label < 0 || static_cast<std::size_t>(label) >= classes) fail(where + "no class " + std::to_string(label));
    if (!std::isfinite(b.x) || !std::isfinite(b.y) || !std::isfinite(b.width) || !std::isfinite(b.height)) {
      fail(where + "the box is not finite");
    }
  };
  constexpr std::size_t most = std::numeric_limits<std::uint32_t>::max();
  if (detections.size() > most || truth.size() > most) fail("more than 4294967295 rows");
  for (std::size_t n = 0; n < detections.size(); ++n) {
    check_row(detections[n].box, detections[n].image, detections[n].label, n, "detection");
    if (!std::isfinite(detections[n].score)) fail("detection " + std::to_string(n) + ": the score is not finite");
  }
  for (std::size_t n = 0; n < truth.size(); ++n) {
    check_row(truth[n].box, truth[n].image, truth[n].label, n, "truth");
    if (!std::isfinite(truth[n].area)) fail("truth " + std::to_string(n) + ": the area is not finite");
  }
}

/// Intersection over union; over the detection's own area when the object is a crowd.
double overlap(const CocoBox& d, double d_area, const CocoTruth& g) {
  const double w = std::fmin(d.width + d.x, g.box.width + g.box.x) - std::fmax(d.x, g.box.x);
  if (w <= 0) return 0;
  const double h = std::fmin(d.height + d.y, g.box.height + g.box.y) - std::fmax(d.y, g.box.y);
  if (h <= 0) return 0;
  const double inter = w * h;
  return inter / (g.is_crowd ? d_area : d_area + g.box.width * g.box.height - inter);
}

template <class Row>
std::vector<std::size_t> offsets_by_class(const std::vector<Row>& rows, std::size_t classes) {
  std::vector<std::size_t> begin(classes + 1, 0);
  for (const Row& row : rows) ++begin[static_cast<std::size_t>(row.label) + 1];
  std::partial_sum(begin.begin(), begin.end(), begin.begin());
  return begin;
}

/// Rows of each class, in input order.
template <class Row>
std::vector<std::uint32_t> rows_by_class(const std::vector<Row>& rows, std::vector<std::size_t> begin) {
  std::vector<std::uint32_t> order(rows.size());
  for (std::size_t n = 0; n < rows.size(); ++n) {
    order[begin[static_cast<std::size_t>(rows[n].label)]++] = static_cast<std::uint32_t>(n);
  }
  return order;
}

class Evaluation {
 public:
  Evaluation(const std::vector<CocoDetection>& detections, const std::vector<CocoTruth>& truth, std::size_t classes,
             const CocoEvalOptions& options)
      : detections_(detections), truth_(truth), options_(options), classes_(classes), limits_(options.max_detections) {
    std::sort(limits_.begin(), limits_.end());
    thresholds_ = options.iou_thresholds;
    thresholds_.insert(thresholds_.end(), options.extra_ious.begin(), options.extra_ious.end());
    lowest_threshold_ = std::min(*std::min_element(thresholds_.begin(), thresholds_.end()), kAlmostOne);
    for (const double iou : options.curve_ious) {
      const auto found = std::find(thresholds_.begin(), thresholds_.end(), iou);
      if (found == thresholds_.end()) {
        throw std::invalid_argument("coco_evaluate: a curve at IoU " + std::to_string(iou) +
                                    " was asked for, which is not among the thresholds");
      }
      curve_thresholds_.push_back(static_cast<std::size_t>(found - thresholds_.begin()));
    }
  }

  CocoEvalResult run() {
    sort_rows();
    match_cells();
    accumulate();
    return summarize();
  }

 private:
  static constexpr double kAlmostOne = 1 - 1e-10;

  [[nodiscard]] std::size_t areas() const { return options_.area_ranges.size(); }
  [[nodiscard]] std::size_t at(std::size_t k, std::size_t a, std::size_t m, std::size_t t) const {
    return ((k * areas() + a) * limits_.size() + m) * thresholds_.size() + t;
  }

  /// Per class: detections best first (ties: image, then input), and the cells of its images.
  void sort_rows() {
    class_begin_ = offsets_by_class(detections_, classes_);
    by_score_ = rows_by_class(detections_, class_begin_);
    truth_begin_ = offsets_by_class(truth_, classes_);
    truth_order_ = rows_by_class(truth_, truth_begin_);
    positions_.resize(detections_.size());
    std::vector<std::vector<Cell>> cells(classes_);
    parallel_chunks(classes_, 1, options_.threads,
                    [&](std::size_t k, std::size_t, std::size_t) { sort_class(k, cells[k]); });
    for (auto& of_class : cells) {
      cells_.insert(cells_.end(), of_class.begin(), of_class.end());
      std::vector<Cell>().swap(of_class);
    }
  }

  void sort_class(std::size_t k, std::vector<Cell>& cells) {
    const std::size_t first = class_begin_[k], count = class_begin_[k + 1] - first;
    std::vector<SortKey> keys(count);
    for (std::size_t i = 0; i < count; ++i) {
      const CocoDetection& d = detections_[by_score_[first + i]];
      keys[i] = {d.score, d.image, by_score_[first + i]};
    }
    std::sort(keys.begin(), keys.end(), [](const SortKey& a, const SortKey& b) {
      if (a.score != b.score) return a.score > b.score;
      return a.image != b.image ? a.image < b.image : a.index < b.index;
    });
    std::vector<std::uint64_t> by_image(count);  // image in the upper half, position in the lower
    for (std::size_t i = 0; i < count; ++i) {
      by_score_[first + i] = keys[i].index;
      by_image[i] = (static_cast<std::uint64_t>(keys[i].image) << 32) | i;
    }
    std::sort(by_image.begin(), by_image.end());
    for (std::size_t i = 0; i < count; ++i) positions_[first + i] = static_cast<std::uint32_t>(by_image[i]);

    const auto truth_first = truth_order_.begin() + static_cast<std::ptrdiff_t>(truth_begin_[k]);
    const auto truth_last = truth_order_.begin() + static_cast<std::ptrdiff_t>(truth_begin_[k + 1]);
    std::stable_sort(truth_first, truth_last,
                     [&](std::uint32_t a, std::uint32_t b) { return truth_[a].image < truth_[b].image; });

    constexpr std::uint64_t none = std::numeric_limits<std::uint64_t>::max();
    std::size_t d = 0, g = truth_begin_[k];
    while (d < count || g < truth_begin_[k + 1]) {
      const auto image_of_truth = [&](std::size_t n) {
        return static_cast<std::uint64_t>(truth_[truth_order_[n]].image);
      };
      const std::uint64_t image =
          std::min(d < count ? by_image[d] >> 32 : none, g < truth_begin_[k + 1] ? image_of_truth(g) : none);
      Cell cell{first + d, g, 0, 0};
      for (; d < count && by_image[d] >> 32 == image; ++d) ++cell.detections;
      for (; g < truth_begin_[k + 1] && image_of_truth(g) == image; ++g) ++cell.truths;
      if (cell.detections > 0) cells.push_back(cell);
    }
  }

  struct Scratch {
    std::vector<double> ious, best;
    std::vector<std::uint32_t> order;
    std::vector<char> ignored, taken;
  };

  void match_cells() {
    status_.assign(detections_.size() * areas() * thresholds_.size(), kFalse);
    rank_.assign(detections_.size(), 0);
    parallel_chunks(cells_.size(), 1024, options_.threads, [&](std::size_t begin, std::size_t end, std::size_t) {
      Scratch scratch;
      for (std::size_t c = begin; c < end; ++c) {
        match_cell(cells_[c], class_begin_of(cells_[c]), scratch);
      }
    });
  }

  [[nodiscard]] std::size_t class_begin_of(const Cell& cell) const {
    return *(std::upper_bound(class_begin_.begin(), class_begin_.end(), cell.first_detection) - 1);
  }

  void match_cell(const Cell& cell, std::size_t class_first, Scratch& scratch) {
    const std::size_t T = thresholds_.size(), G = static_cast<std::size_t>(cell.truths);
    const std::size_t D = static_cast<std::size_t>(std::min(cell.detections, limits_.back()));
    for (std::size_t r = 0; r < static_cast<std::size_t>(cell.detections); ++r) {
      rank_[class_first + positions_[cell.first_detection + r]] = static_cast<std::int32_t>(r);
    }
    const auto detection = [&](std::size_t d) -> const CocoDetection& {
      return detections_[by_score_[class_first + positions_[cell.first_detection + d]]];
    };
    const auto truth = [&](std::size_t g) -> const CocoTruth& { return truth_[truth_order_[cell.first_truth + g]]; };
    const auto status = [&](std::size_t d, std::size_t a) {
      return &status_[((class_first + positions_[cell.first_detection + d]) * areas() + a) * T];
    };

    scratch.ious.resize(D * G);
    scratch.best.assign(D, 0);
    for (std::size_t d = 0; d < D; ++d) {
      const CocoBox& box = detection(d).box;
      for (std::size_t g = 0; g < G; ++g) {
        const double value = overlap(box, box.width * box.height, truth(g));
        scratch.ious[d * G + g] = value;
        scratch.best[d] = std::max(scratch.best[d], value);
      }
    }
    for (std::size_t a = 0; a < areas(); ++a) {
      const AreaRange& range = options_.area_ranges[a];
      const auto outside = [&](double area) { return area < range.low || area > range.high; };
      // Objects that count come first, those to ignore last; otherwise input order.
      scratch.ignored.resize(G);
      scratch.order.clear();
      for (std::size_t g = 0; g < G; ++g) scratch.ignored[g] = truth(g).is_crowd || outside(truth(g).area);
      for (const bool wanted : {false, true}) {
        for (std::size_t g = 0; g < G; ++g) {
          if ((scratch.ignored[g] != 0) == wanted) scratch.order.push_back(static_cast<std::uint32_t>(g));
        }
      }
      scratch.taken.assign(G * T, 0);
      for (std::size_t d = 0; d < D; ++d) {
        const CocoBox& box = detection(d).box;
        std::uint8_t* out = status(d, a);
        const Status unmatched = outside(box.width * box.height) ? kIgnored : kFalse;
        for (std::size_t t = 0; t < T; ++t) out[t] = unmatched;
        if (scratch.best[d] < lowest_threshold_) continue;
        const double* ious = &scratch.ious[d * G];
        for (std::size_t t = 0; t < T; ++t) {
          double iou = std::min(thresholds_[t], kAlmostOne);
          std::ptrdiff_t match = -1;
          for (const std::uint32_t g : scratch.order) {
            if (scratch.taken[t * G + g] && !truth(g).is_crowd) continue;
            if (match >= 0 && !scratch.ignored[static_cast<std::size_t>(match)] && scratch.ignored[g]) break;
            if (ious[g] < iou) continue;
            iou = ious[g];
            match = g;
          }
          if (match < 0) continue;
          scratch.taken[t * G + static_cast<std::size_t>(match)] = 1;
          out[t] = scratch.ignored[static_cast<std::size_t>(match)] ? kIgnored : kTrue;
        }
      }
    }
  }

  /// Per class, area range and limit: cumulated hits, the envelope of the precision, its mean over the recalls.
  void accumulate() {
    const std::size_t A = areas(), M = limits_.size(), T = thresholds_.size();
    precision_.assign(classes_ * A * M * T, -1);
    recall_.assign(classes_ * A * M * T, -1);
    truth_counts_.assign(classes_ * A, 0);
    curves_.resize(classes_ * curve_thresholds_.size());
    for (std::size_t k = 0; k < classes_; ++k) {
      for (std::size_t c = 0; c < curve_thresholds_.size(); ++c) {
        PrecisionRecallCurve& curve = curves_[k * curve_thresholds_.size() + c];
        curve.iou = thresholds_[curve_thresholds_[c]];
        curve.label = static_cast<std::int32_t>(k);
        curve.precision.fill(-1);
        curve.score.fill(-1);
      }
    }
    parallel_chunks(classes_ * A, 1, options_.threads,
                    [&](std::size_t task, std::size_t, std::size_t) { accumulate_class(task / A, task % A); });
  }

  struct Hit {
    std::uint32_t false_before;  ///< false detections ranked above
    std::uint32_t position;      ///< in the class, best first
  };

  void accumulate_class(std::size_t k, std::size_t a) {
    const std::size_t T = thresholds_.size(), M = limits_.size();
    std::size_t objects = 0;
    for (std::size_t n = truth_begin_[k]; n < truth_begin_[k + 1]; ++n) {
      const CocoTruth& g = truth_[truth_order_[n]];
      if (!g.is_crowd && g.area >= options_.area_ranges[a].low && g.area <= options_.area_ranges[a].high) ++objects;
    }
    truth_counts_[k * areas() + a] = objects;
    if (objects == 0) return;

    const std::size_t first = class_begin_[k], count = class_begin_[k + 1] - first;
    std::vector<std::uint32_t> misses(T);
    std::vector<std::vector<Hit>> hits(T);
    for (std::size_t m = 0; m < M; ++m) {
      std::fill(misses.begin(), misses.end(), 0);
      for (auto& list : hits) list.clear();
      std::ptrdiff_t best_ranked = -1;  // the first detection within the limit
      for (std::size_t i = 0; i < count; ++i) {
        if (rank_[first + i] >= limits_[m]) continue;
        if (best_ranked < 0) best_ranked = static_cast<std::ptrdiff_t>(i);
        const std::uint8_t* status = &status_[((first + i) * areas() + a) * T];
        for (std::size_t t = 0; t < T; ++t) {
          if (status[t] == kTrue) {
            hits[t].push_back({misses[t], static_cast<std::uint32_t>(i)});
          } else {
            misses[t] += status[t] == kFalse;
          }
        }
      }
      for (std::size_t t = 0; t < T; ++t) {
        recall_[at(k, a, m, t)] = static_cast<double>(hits[t].size()) / static_cast<double>(objects);
        std::array<double, kRecalls> precision{}, score{};
        if (best_ranked >= 0)
          interpolate(hits[t], objects, first, static_cast<std::size_t>(best_ranked), precision, score);
        double sum = 0;
        for (const double p : precision) sum += p;
        precision_[at(k, a, m, t)] = sum / static_cast<double>(kRecalls);
        if (a != 0 || m + 1 != M) continue;
        for (std::size_t c = 0; c < curve_thresholds_.size(); ++c) {
          if (curve_thresholds_[c] != t) continue;
          curves_[k * curve_thresholds_.size() + c].precision = precision;
          curves_[k * curve_thresholds_.size() + c].score = score;
        }
      }
    }
  }

  /// The precision falls between hits, so its envelope (the largest precision at this recall or a higher one) is
  /// decided at hits alone.
  void interpolate(const std::vector<Hit>& hits, std::size_t objects, std::size_t first, std::size_t best_ranked,
                   std::array<double, kRecalls>& precision, std::array<double, kRecalls>& score) const {
    static const std::vector<double> recalls = evenly_spaced(0, 1, kRecalls);
    std::size_t r = kRecalls;
    double envelope = 0;
    for (std::size_t h = hits.size(); h-- > 0;) {
      const double found = static_cast<double>(h + 1);
      envelope = std::max(envelope, found / (static_cast<double>(hits[h].false_before) + found +
                                             std::numeric_limits<double>::epsilon()));
      const double recall = found / static_cast<double>(objects);
      const double recall_before = static_cast<double>(h) / static_cast<double>(objects);
      while (r > 1 && recalls[r - 1] > recall_before) {
        --r;
        if (recalls[r] > recall) continue;
        precision[r] = envelope;
        score[r] = detections_[by_score_[first + hits[h].position]].score;
      }
    }
    precision[0] = envelope;  // recall 0 is reached by the very first detection, hit or not
    score[0] = detections_[by_score_[first + best_ranked]].score;
  }

  [[nodiscard]] double mean_over_thresholds(const std::vector<double>& values, std::size_t k, std::size_t a,
                                            std::size_t m) const {
    double sum = 0;
    for (std::size_t t = 0; t < options_.iou_thresholds.size(); ++t) sum += values[at(k, a, m, t)];
    return sum / static_cast<double>(options_.iou_thresholds.size());
  }

  CocoEvalResult summarize() {
    const std::size_t A = areas(), M = limits_.size(), T = thresholds_.size(), N = options_.iou_thresholds.size();
    CocoEvalResult result;
    result.areas = A;
    result.limits = M;
    result.curves = std::move(curves_);
    result.mean_precision.assign(T * A * M, -1);
    result.mean_recall.assign(T * A * M, -1);
    for (std::size_t a = 0; a < A; ++a) {
      for (std::size_t m = 0; m < M; ++m) {
        for (std::size_t t = 0; t < T; ++t) {
          double precision = 0, recall = 0, known = 0;
          for (std::size_t k = 0; k < classes_; ++k) {
            if (truth_counts_[k * A + a] == 0) continue;
            precision += precision_[at(k, a, m, t)];
            recall += recall_[at(k, a, m, t)];
            ++known;
          }
          if (known == 0) continue;
          result.mean_precision[(t * A + a) * M + m] = precision / known;
          result.mean_recall[(t * A + a) * M + m] = recall / known;
        }
      }
    }

    const auto index_of = [&](double iou) {
      const auto end = thresholds_.begin() + static_cast<std::ptrdiff_t>(N);
      const auto found = std::find(thresholds_.begin(), end, iou);
      return found == end ? -1 : found - thresholds_.begin();
    };
    const std::ptrdiff_t t50 = index_of(0.5), t75 = index_of(0.75);

    result.classes.resize(classes_);
    for (std::size_t k = 0; k < classes_; ++k) {
      CocoClassResult& c = result.classes[k];
      c.truth_count = truth_counts_[k * A];
      const std::size_t last = M - 1;
      c.ap = mean_over_thresholds(precision_, k, 0, last);
      if (t50 >= 0) c.ap50 = precision_[at(k, 0, last, static_cast<std::size_t>(t50))];
      if (t75 >= 0) c.ap75 = precision_[at(k, 0, last, static_cast<std::size_t>(t75))];
      for (std::size_t a = 0; a < A; ++a) {
        c.ap_per_area.push_back(mean_over_thresholds(precision_, k, a, last));
        c.ar_per_area.push_back(mean_over_thresholds(recall_, k, a, last));
      }
      for (std::size_t m = 0; m < M; ++m) c.ar_per_max_detections.push_back(mean_over_thresholds(recall_, k, 0, m));
      for (std::size_t t = 0; t < T; ++t) {
        (t < N ? c.ap_per_iou : c.ap_per_extra_iou).push_back(precision_[at(k, 0, last, t)]);
        (t < N ? c.recall_per_iou : c.recall_per_extra).push_back(recall_[at(k, 0, last, t)]);
      }
    }

    const auto mean = [&](const std::vector<double>& values, std::size_t a, std::size_t m) {
      if (a >= A || m >= M) return -1.0;
      double sum = 0;
      for (std::size_t t = 0; t < N; ++t) {
        if (values[(t * A + a) * M + m] < 0) return -1.0;  // no class has an object that counts
        sum += values[(t * A + a) * M + m];
      }
      return sum / static_cast<double>(N);
    };
    const auto at_threshold = [&](std::ptrdiff_t t) {
      return t < 0 ? -1.0 : result.ap_at(static_cast<std::size_t>(t), 0, M - 1);
    };
    const auto& ap = result.mean_precision;
    const auto& ar = result.mean_recall;
    result.stats = {mean(ap, 0, M - 1), at_threshold(t50),  at_threshold(t75),  mean(ap, 1, M - 1),
                    mean(ap, 2, M - 1), mean(ap, 3, M - 1), mean(ar, 0, 0),     mean(ar, 0, 1),
                    mean(ar, 0, 2),     mean(ar, 1, M - 1), mean(ar, 2, M - 1), mean(ar, 3, M - 1)};
    return result;
  }

  const std::vector<CocoDetection>& detections_;
  const std::vector<CocoTruth>& truth_;
  const CocoEvalOptions& options_;
  std::size_t classes_;
  std::vector<int> limits_;         ///< ascending
  std::vector<double> thresholds_;  ///< iou_thresholds, then extra_ious
  double lowest_threshold_ = 0;
  std::vector<std::size_t> curve_thresholds_;

  std::vector<std::size_t> class_begin_, truth_begin_;
  std::vector<std::uint32_t> by_score_;     ///< detections, class by class, best first
  std::vector<std::uint32_t> positions_;    ///< class by class, image by image: position inside the class's by_score_
  std::vector<std::uint32_t> truth_order_;  ///< truth, class by class, image by image
  std::vector<Cell> cells_;
  std::vector<std::uint8_t> status_;  ///< by_score_ position x area x threshold
  std::vector<std::int32_t> rank_;    ///< of a by_score_ position among the class's detections of its image

  std::vector<double> precision_, recall_;  ///< see at()
  std::vector<std::size_t> truth_counts_;   ///< class x area
  std::vector<PrecisionRecallCurve> curves_;
};

}  // namespace

std::vector<double> evenly_spaced(double first, double last, int count) {
  std::vector<double> values;
  const double step = (last - first) / (count - 1);
  for (int i = 0; i < count; ++i) values.push_back(i * step + first);
  if (count > 1) values.back() = last;
  return values;
}

const std::array<const char*, 12>& coco_stat_names() {
  static const std::array<const char*, 12> names{"AP",  "AP50", "AP75",  "AP_small", "AP_medium", "AP_large",
                                                 "AR1", "AR10", "AR100", "AR_small", "AR_medium", "AR_large"};
  return names;
}

CocoEvalResult coco_evaluate(const std::vector<CocoDetection>& detections, const std::vector<CocoTruth>& truth,
                             std::size_t images, std::size_t classes, const CocoEvalOptions& options) {
  check(detections, truth, images, classes, options);
  return Evaluation(detections, truth, classes, options).run();
}

}  // namespace bdc
