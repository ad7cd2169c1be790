#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "bdc/crowd/crowd_data.h"
#include "bdc/crowd/predictions.h"
#include "bdc/crowd/targets.h"
#include "bdc/learn/annotator_posteriors.h"
#include "bdc/learn/learner.h"
#include "bdc/metrics/coco_eval.h"

/// AP without truth: against truths drawn from what the consensus believes. A draw takes every object with its
/// existence, its class by the class probabilities and its edges by their deviations, and adds the objects that nobody
/// drew. The consensus hears the detector as one voice among the annotators, one class per box: otherwise its errors
/// and the detector's were independent, and a detector that is right where the consensus is wrong would be marked down.
///
/// Some of that is left, because a fit follows each voice a little less than it deserves. How much is found by trying:
/// a draw is taken for the truth, everybody labels it anew as is believed of them, the fit is repeated, and the AP that
/// is then expected is compared with the AP against that draw. The difference is taken off.
namespace bdc {

/// A figure that is expected, and the interval that holds it with a probability of 90 %.
struct ExpectedFigure {
  double mean = 0, low = 0, high = 0;
};

/// AP, AP50 and AP75 in [0, 1].
struct ExpectedAp {
  ExpectedFigure ap, ap50, ap75;
  /// What the interval of AP is made of, as standard deviations: the draws; how well existence, classes and boxes are
  /// calibrated (each made surer and less sure).
  double draws = 0, existence = 0, classes = 0, boxes = 0;
  double correction = 0;  ///< what was added because fits mark detectors down; half of it is in the interval
};

struct ExpectedApSettings {
  int draws = 16;
  int trials = 3;    ///< labels drawn anew, to find the correction; 0: none
  double doubt = 1;  ///< factor of what calibration adds to the interval
  std::uint64_t seed = 1;
  int threads = 0;                                  ///< 0: all cores. The result has the same bits for any number.
  std::function<void(int done, int all)> progress;  ///< may be empty; may throw to stop
};

/// Truths from a posterior, for several judgements of the same draws.
class TruthDraws {
 public:
  /// unseen: expected objects by image that are not among the targets. All must outlive this.
  TruthDraws(const CrowdData& crowd, const Targets& targets, const std::vector<double>& unseen,
             const ExpectedApSettings& settings);

  /// A truth, in the crowd's order of images.
  [[nodiscard]] std::vector<TruthBox> truth(std::uint64_t number) const;

  /// Of detections whose image is its rank by id (rank_by_id). evaluated: a flag per image; empty: all.
  [[nodiscard]] ExpectedAp judge(const std::vector<CocoDetection>& detections,
                                 const std::vector<char>& evaluated = {}) const;
  /// AP, AP50 and AP75 against one draw; and the mean of a few.
  [[nodiscard]] std::array<double, 3> ap_against(const std::vector<CocoDetection>& detections,
                                                 std::uint64_t number) const;
  [[nodiscard]] std::array<double, 3> mean_of(const std::vector<CocoDetection>& detections,
                                              const std::vector<char>& evaluated = {}) const;
  /// Judgements are reported so many steps each.
  [[nodiscard]] static int steps(const ExpectedApSettings& settings);

 private:
  /// How a draw departs from the posterior: factor of the odds of existence, power of the class probabilities, factor
  /// of the deviations.
  struct Doubt {
    double odds = 1, power = 1, spread = 1;
  };
  [[nodiscard]] std::vector<TruthBox> draw(std::uint64_t number, const Doubt& doubt,
                                           const std::vector<char>& evaluated) const;
  [[nodiscard]] std::array<double, 3> ap_of(const std::vector<CocoDetection>& detections, std::uint64_t number,
                                            const Doubt& doubt, const std::vector<char>& evaluated) const;

  const CrowdData& crowd_;
  const Targets& targets_;
  const std::vector<double>& unseen_;
  ExpectedApSettings settings_;
  std::vector<std::int32_t> rank_;
  double width_ = 50, height_ = 50;  ///< of objects that nobody drew
  std::vector<double> class_share_;
};

/// What labels allow at most, by the same draws.
struct Ceilings {
  double one_annotator = 0;   ///< mean over annotators, by the objects they were shown
  double best_annotator = 0;  ///< of those who were shown 20 objects or more; 0: nobody was
  std::size_t best = 0, annotators = 0;
  double consensus = 0;
};
[[nodiscard]] Ceilings label_ceilings(const CrowdData& crowd, const Targets& targets, const TruthDraws& draws);

struct Judgement {
  ExpectedAp expected;
  Ceilings ceilings;
  Targets consensus;  ///< with the detector as a voice
  double objects = 0;
  std::vector<std::string> warnings;  ///< of the fit
};

/// Expected AP of the consensus itself: of labels as they are. fit: of the crowd, by absence_aware, without a detector.
[[nodiscard]] ExpectedAp judge_labels(const CrowdData& crowd, const FitResult& fit, const ExpectedApSettings& settings);

/// Everything about a detector. predictions and detections: the same boxes, for the fit and for the evaluation. Throws
/// DataError for a crowd without annotators.
[[nodiscard]] Judgement judge_detector(const CrowdData& crowd, const Predictions& predictions,
                                       const std::vector<CocoDetection>& detections,
                                       const ExpectedApSettings& settings);

}  // namespace bdc
