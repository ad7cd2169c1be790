#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "bdc/base/exact_sum.h"
#include "bdc/crowd/crowd_data.h"
#include "bdc/crowd/grouping.h"
#include "bdc/crowd/targets.h"
#include "bdc/learn/annotator_posteriors.h"
#include "bdc/learn/learner.h"

namespace bdc {

struct CrowdRcnnSettings {
  double group_iou = 0.5;       ///< annotations that overlap by more show one object (group_by_best_overlap)
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
/// Neither lowers the bound, the sum over groups of ln sum_j p_j product s^k_jl, plus the sum of prior_jl ln s^k_jl.
/// A step costs (annotations of its images) x J, an epoch (annotations) x J, whatever the number of annotators: counts
/// are kept for the classes an annotator has given and for no others.
/// Truth is never looked at. Not safe to use from several threads at once.
class CrowdRcnn {
 public:
  /// crowd must stay alive. prior: counts of an earlier project, which join the pseudo-counts, or null. Throws
  /// DataError for a crowd without annotators or annotations.
  CrowdRcnn(const CrowdData& crowd, const CrowdRcnnSettings& settings, const AnnotatorPosteriors* prior = nullptr);
  ~CrowdRcnn();

  /// One target per group, in Targets::begin {0, T}: mean box, rho, weight 1, and as the score max rho times the share
  /// of the image's annotators who are in the group. Under the sensitivities of the last epoch's end. An image may come
  /// once per epoch.
  Targets observe(std::size_t image, const DetectedBoxes& detections);
  /// The same targets, appended, without any effect on what is learnt.
  void append_targets(std::size_t image, const DetectedBoxes& detections, Targets& to) const;
  /// The targets of all images, without a detector.
  [[nodiscard]] Targets without_detector() const;
  /// What observe has seen since the last maximisation.
  [[nodiscard]] Evidence& evidence();
  /// Maximisation from it. Returns the bound under the sensitivities that the images were seen with.
  double finish_epoch();

  /// s^k_jl.
  [[nodiscard]] double sensitivity(std::size_t annotator, std::size_t true_class, std::int32_t given) const;
  /// Confusion counts as a file for the run folder; no box errors, no recall; the prior's are not among them.
  [[nodiscard]] AnnotatorPosteriors posteriors() const;
  /// Those of a crowd that drew nothing.
  [[nodiscard]] static AnnotatorPosteriors nothing_learnt(const CrowdData& crowd, const CrowdRcnnSettings& settings);

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

  class Sums;

  void add_image(std::size_t image);
  [[nodiscard]] const double* classes_seen(const Object& object, const DetectedBoxes& detections) const;
  double expect(const Object& object, const double* prior, std::vector<double>& rho) const;
  void count(const Object& object, const std::vector<double>& rho, double log_likelihood);
  void append(const Object& object, const std::vector<double>& rho, Targets& to) const;
  void refresh_logs();
  [[nodiscard]] double earlier(std::size_t n) const { return earlier_.empty() ? 0.0 : earlier_[n]; }

  const CrowdData& crowd_;
  CrowdRcnnSettings settings_;
  std::size_t J_;
  std::vector<Object> objects_;
  std::vector<std::size_t> object_begin_;  ///< images + 1
  std::vector<Member> member_;
  ConfusionColumns counts_;        ///< n, after the last maximisation
  std::vector<double> earlier_;    ///< counts of an earlier project, in the layout of counts_; empty: none
  std::unique_ptr<Sums> next_;     ///< of the epoch under way
  std::vector<double> log_given_;  ///< ln(prior + earlier + n), in the layout of counts_
  std::vector<double> log_row_;    ///< ln(sum over l), annotator * J + j
  double log_prior_ = 0;           ///< sum of prior_jl ln s^k_jl
};

}  // namespace bdc
