#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "bdc/base/span.h"
#include "bdc/crowd/crowd_data.h"
#include "bdc/crowd/geometry.h"
#include "bdc/crowd/targets.h"
#include "bdc/learn/annotator_posteriors.h"
#include "bdc/learn/bdc/box_error.h"
#include "bdc/learn/bdc/confusion.h"
#include "bdc/learn/bdc/lower_bound.h"
#include "bdc/learn/bdc/matcher.h"

namespace bdc {

class StateReader;
class StateWriter;

/// Numbers of the model; a profile gives the defaults.
struct BdcParameters {
  MatchCost match;
  BoxPrior box;
  std::array<double, 4> box_mean_limit{};  ///< means are clipped to +- this; 0: no limit
  ConfusionPrior confusion;
  double min_weight = -1;  ///< targets need a weight above this
  /// `paper`: a target's weight is the share of those who looked at the image, not of all annotators of the crowd. The
  /// same where everybody looks at every image.
  bool weigh_by_looks = false;
};

/// What a detector says of one image. Scores: N x J, row-major, as the detector gives them.
struct ImagePredictions {
  Span<const Box> box;  ///< pixels of the original image
  const double* scores = nullptr;
};

/// One object of an image: a prediction with at least one annotation tied to it.
struct BdcObject {
  std::int32_t prediction = 0;  ///< index into the image's predictions
  std::int32_t matched = 0;     ///< annotations tied to it
  CenterBox predicted;          ///< normalised
  CenterBox box;                ///< the aggregated box, normalised
};

/// How much an update moved the posteriors.
struct BdcUpdate {
  double bound = 0;             ///< the profile's lower bound, class part, after the update
  double box_change = 0;        ///< largest change of an annotator's mean error
  double confusion_change = 0;  ///< mean change of E[ln pi] over the used columns
};

/// Annotators' posteriors and the latest evidence of every image: the alternation of BDC, one image at a time.
///
///   for each round:  aggregate_image(i, predictions of i) for every image, in any order, from any threads
///                    update() once
///
/// aggregate_image matches, then aggregates with the posteriors as the last update left them, and remembers the image's
/// evidence until the image is aggregated again. update computes the posteriors anew from the priors and the evidence
/// of all images, annotator by annotator in a fixed order: the bits depend neither on the order in which images came
/// nor on the number of threads. Memory: J numbers per used column (annotator, given class) and per object, no K x J x
/// J.
class BdcModel {
 public:
  virtual ~BdcModel();
  BdcModel(const BdcModel&) = delete;
  BdcModel& operator=(const BdcModel&) = delete;

  /// Buffers of one thread.
  struct Workspace {
    std::vector<Box> annotations, predictions;
    std::vector<std::int32_t> labels, taken_by, match, row_of_prediction;
    std::vector<double> probs, log_probs, log_offset, precision, log_prior;
  };

  /// Match, aggregate, remember. Safe to call at the same time for different images with different workspaces.
  /// Throws std::invalid_argument when there are more objects than the model was built for.
  virtual void aggregate_image(std::size_t image, const ImagePredictions& predictions, Workspace& workspace) = 0;
  /// The same with the matches the image already has.
  virtual void reaggregate_image(std::size_t image, const ImagePredictions& predictions, Workspace& workspace) = 0;
  /// Forgets the evidence of one image (it has no annotation tied to anything).
  void clear_image(std::size_t image);
  /// Posteriors from the priors and the evidence.
  virtual BdcUpdate update(int threads) = 0;

  [[nodiscard]] std::size_t num_objects(std::size_t image) const { return static_cast<std::size_t>(row_count_[image]); }
  [[nodiscard]] const BdcObject& object(std::size_t image, std::size_t n) const {
    return objects_[row_begin_[image] + n];
  }
  /// rho of an object, J values.
  [[nodiscard]] const double* class_probs(std::size_t image, std::size_t n) const {
    return &rho_[(row_begin_[image] + n) * num_classes_];
  }
  /// Weight in the training loss, as the profile's equation gives it; `paper` exceeds 1 when annotators draw an object
  /// twice.
  [[nodiscard]] virtual double weight(std::size_t image, std::size_t n) const = 0;
  /// Object of an annotation (index into CrowdData::annotations) counted inside its image, or -1.
  [[nodiscard]] std::int32_t object_of(std::size_t annotation) const;
  [[nodiscard]] const BoxPosterior& box_posterior(std::size_t annotator) const { return box_posterior_[annotator]; }
  /// E[ln pi] of the used columns.
  [[nodiscard]] const ConfusionColumns& expected_log_confusion() const { return expected_; }
  [[nodiscard]] const BdcParameters& parameters() const { return parameters_; }

  /// Targets of all images: objects above min_weight with a positive box, clipped to the image; score = weight times
  /// the largest class probability.
  [[nodiscard]] Targets targets() const;
  /// The same, giving up the model's memory for the result's: the model must not be used afterwards.
  [[nodiscard]] Targets release_targets();
  /// Appends those of one image and closes it (Targets::begin).
  void append_targets(std::size_t image, Targets& targets) const;

  /// Posteriors and evidence, bit for bit. load throws std::invalid_argument for the state of another crowd.
  void save(StateWriter& state) const;
  void load(StateReader& state);
  /// The evidence of one image, as copied from another model of the same crowd and profile, or as bytes. load_image
  /// throws std::invalid_argument for bytes that do not fit.
  void copy_image(const BdcModel& from, std::size_t image);
  void save_image(std::size_t image, StateWriter& state) const;
  void load_image(std::size_t image, StateReader& state);
  /// Evidence of the last update, which must come after the last aggregate_image; without the prior's.
  [[nodiscard]] AnnotatorPosteriors posteriors(const char* profile, int threads) const;
  /// The same, giving up the model's memory for the result's: only targets may be asked for afterwards.
  [[nodiscard]] AnnotatorPosteriors release_posteriors(const char* profile, int threads);

 protected:
  BdcModel(const CrowdData& crowd, const BdcParameters& parameters, const AnnotatorPosteriors* prior,
           Span<const std::int32_t> max_objects);

  void find_columns();
  void start_confusion();

  // Of annotator k, columns x J: counts of the present evidence; counts of an earlier project, added; the prior with
  // them.
  void confusion_counts(std::size_t k, double* counts) const;
  void add_earlier_counts(std::size_t k, double* counts) const;
  void prior_columns(std::size_t k, double* alpha0) const;
  [[nodiscard]] ConfusionView view(std::size_t k, const double* value) const;
  [[nodiscard]] std::size_t columns(std::size_t k) const { return expected_.begin[k + 1] - expected_.begin[k]; }
  /// sums: of this crowd.
  void set_box_posterior(std::size_t k, const BoxErrorSums& sums);
  /// The object's box in the image and its weight; false when it is no target.
  [[nodiscard]] bool target_of(std::size_t image, std::size_t n, Box& box, double& weight) const;
  template <class Archive, class Self>
  static void archive(Archive& state, Self& self);
  [[nodiscard]] Targets compact_targets(std::vector<double> rho) const;
  void fill_counts(ConfusionColumns& counts, int threads) const;
  [[nodiscard]] AnnotatorPosteriors summary(const char* profile, ConfusionColumns counts) const;
  [[nodiscard]] BoundTerms present_bound(int threads) const;

  const CrowdData& crowd_;
  BdcParameters parameters_;
  ConfusionPriorTables tables_;
  std::size_t num_classes_ = 0;
  const AnnotatorPosteriors* prior_ = nullptr;  ///< aligned with the crowd, or null
  std::unique_ptr<AnnotatorPosteriors> aligned_prior_;

  // Per image.
  std::vector<ImageScale> inverse_scale_;  ///< 1 / width, 1 / height
  std::vector<std::int32_t> drawers_;      ///< distinct annotators with an annotation
  std::vector<std::size_t> row_begin_;     ///< room for the image's objects
  std::vector<std::int32_t> row_count_;
  std::vector<std::array<double, 2>> image_terms_;  ///< sum of rho ln p, sum of rho ln rho

  // Per annotation.
  std::vector<std::int32_t> previous_;        ///< the annotation before by the same annotator in the image, or -1
  std::vector<std::int32_t> object_of_;       ///< row of objects_, or -1
  std::vector<std::uint32_t> column_of_;      ///< column of expected_
  std::vector<std::uint32_t> by_annotator_;   ///< annotations, annotator by annotator, in order
  std::vector<std::size_t> annotator_begin_;  ///< into by_annotator_

  // Per object.
  std::vector<BdcObject> objects_;
  std::vector<double> rho_;

  // Per annotator.
  struct BoxWeight {
    std::array<double, 4> mean, precision;
  };
  std::vector<BoxWeight> box_weight_;
  std::vector<BoxPosterior> box_posterior_;
  std::vector<BoxErrorSums> box_sums_;  ///< of this crowd; the prior's come on top
  ConfusionColumns expected_;
  BoundTerms dirichlet_;  ///< e_ln_p_pi and e_ln_q_pi of the present alpha
};

/// The published equations.
class PaperModel : public BdcModel {
 public:
  using BdcModel::BdcModel;
  /// The lower bound of the class part at the present rho and alpha, term by term.
  [[nodiscard]] virtual BoundTerms bound_terms(int threads) const = 0;
};

/// max_objects: largest number of objects of each image, or empty for as many as annotations.
/// prior: from an earlier project, or null. crowd must stay alive.
[[nodiscard]] std::unique_ptr<PaperModel> make_paper_model(const CrowdData& crowd, const BdcParameters& parameters,
                                                           const AnnotatorPosteriors* prior = nullptr,
                                                           Span<const std::int32_t> max_objects = {});
[[nodiscard]] BdcParameters paper_parameters();

/// What the authors' released program computes. Its "lower bound" is a figure for the log, not a bound.
[[nodiscard]] std::unique_ptr<BdcModel> make_reference_model(const CrowdData& crowd, const BdcParameters& parameters,
                                                             const AnnotatorPosteriors* prior = nullptr,
                                                             Span<const std::int32_t> max_objects = {});
[[nodiscard]] BdcParameters reference_parameters();

}  // namespace bdc
