#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bdc/crowd/crowd_data.h"
#include "bdc/crowd/grouping.h"
#include "bdc/crowd/targets.h"
#include "bdc/learn/annotator_posteriors.h"
#include "bdc/learn/online_bdc.h"

namespace bdc {

struct CrowdRcnnSettings {
  double group_iou = 0.5;       ///< annotations that overlap by more are of one object (group_by_best_overlap)
  double detector_iou = 0.5;    ///< a detection that overlaps a group's box by at least this says what its classes are
  ConfusionPrior prior{10, 1};  ///< pseudo-counts of every row of an annotator's sensitivities
  int rounds = 10;              ///< expectation and maximisation on the annotations alone, before the first epoch
};

/// Crowd R-CNN's view of a crowd. Annotations of an image are grouped once and for all; a group is an object whose box
/// is the mean of its members' boxes. Annotator k calls class j class l with the sensitivity
///   s^k_jl = (prior_jl + n^k_jl) / sum_l' (prior_jl' + n^k_jl'),
/// n the expected counts. Expectation, for a group with detector classes p (uniform where the detector sees nothing):
///   rho_j is proportional to p_j * product over its members (k, l) of s^k_jl.
/// Maximisation, once an epoch: n^k_jl = sum of rho_j over the groups in which annotator k said l.
/// A step costs (annotations of its images) x J, an epoch (annotations) x J, whatever the number of annotators: counts
/// are kept for the classes an annotator has given and for no others.
/// Truth is never looked at. Not safe to use from several threads at once.
class CrowdRcnn {
 public:
  /// crowd must stay alive. Throws DataError for a crowd without annotators or annotations.
  CrowdRcnn(const CrowdData& crowd, const CrowdRcnnSettings& settings);

  /// One target per group, in Targets::begin {0, T}: mean box, rho, weight 1, and as the score max rho times the share
  /// of the image's annotators who are in the group. Under the sensitivities of the last epoch's end. An image may come
  /// once per epoch.
  Targets observe(std::size_t image, const DetectedBoxes& detections);
  /// The targets of all images, without a detector.
  [[nodiscard]] Targets without_detector() const;
  /// Maximisation from what observe has seen since the last time.
  void finish_epoch();

  /// s^k_jl.
  [[nodiscard]] double sensitivity(std::size_t annotator, std::size_t true_class, std::int32_t given) const;
  /// Confusion counts as a file for the run folder; no box errors, no recall.
  [[nodiscard]] AnnotatorPosteriors posteriors() const;

  /// All that later results depend on, bit for bit.
  [[nodiscard]] std::string save() const;
  /// Throws std::invalid_argument unless the bytes were saved on the same crowd.
  void load(const std::string& bytes);

 private:
  struct Object {
    Box box;
    double share = 0;                        ///< of the image's annotators
    std::size_t first_member = 0, last = 0;  ///< into member_
  };
  struct Member {
    std::size_t column;  ///< of counts_: annotator and given class
    std::int32_t annotator;
  };

  void add_image(std::size_t image);
  void expect(const Object& object, const double* prior, std::vector<double>& rho) const;
  void count(const Object& object, const std::vector<double>& rho);
  void append(const Object& object, const std::vector<double>& rho, Targets& to) const;
  void refresh_logs();

  const CrowdData& crowd_;
  CrowdRcnnSettings settings_;
  std::size_t J_;
  std::vector<Object> objects_;
  std::vector<std::size_t> object_begin_;  ///< images + 1
  std::vector<Member> member_;
  ConfusionColumns counts_;        ///< n, after the last maximisation
  std::vector<double> next_;       ///< n of the epoch under way, in the layout of counts_
  std::vector<double> log_given_;  ///< ln(prior + n), in the layout of counts_
  std::vector<double> log_row_;    ///< ln(sum over l), annotator * J + j
};

}  // namespace bdc
