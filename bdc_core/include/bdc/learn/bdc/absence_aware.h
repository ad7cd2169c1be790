#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "bdc/base/ranks.h"
#include "bdc/base/span.h"
#include "bdc/crowd/crowd_data.h"
#include "bdc/crowd/predictions.h"
#include "bdc/crowd/targets.h"
#include "bdc/crowd/targets_of_ranks.h"
#include "bdc/learn/bdc/confusion.h"
#include "bdc/learn/bdc/wrong_shares.h"
#include "bdc/learn/dependence.h"

/// The profile `absence_aware`: one probabilistic model of who draws what, where and with which class, fitted by
/// maximising one lower bound. docs/method.md states the model, the bound and why no update lowers it.
///
/// A *source* is an annotator or the detector. Sources 0..K-1 are the annotators; with predictions, source K is the
/// detector. A *candidate* is a set of boxes of one image, at most one per source, that may be one object.
/// Edges are numbered x1, y1, x2, y2. An edge error is divided by the candidate's noise scale: on the x edges
/// reference_size[0] * (width / reference_size[0])^size_power[0], likewise height on the y edges.
namespace bdc {

/// Levels of a detector's score that the model tells apart: [0, 0.1), ..., [0.9, 1].
inline constexpr std::size_t kScoreLevels = 10;

/// Object rates (objects per image) that the model tells apart: 0.03 * 1.2^m.
inline constexpr std::size_t kObjectRates = 46;

/// Worklists that the model tells apart: piles of images with many and with few objects, shown to different people.
inline constexpr std::size_t kWorklists = 2;

/// A box is where the object is when their intersection over union is at least this.
inline constexpr double kLocatedIou = 0.5;

/// A person has drawn an object in place when their box overlaps what the others drew of it by at least this. Less than
/// kLocatedIou: here both boxes are off, not one.
inline constexpr double kDrawnIou = 0.4;

/// See AbsenceAwareBeliefs::corroborated.
inline constexpr double kLoneBoxIsReal = 0.8;

/// What was counted of one source: sums over images, so evidence of shards adds. Expected counts, hence fractions.
struct SourceEvidence {
  /// Looks that tell of existence, not at blank images nor at lone ones; with the expected looks at images of the same
  /// kind in which nobody happened to draw.
  double images = 0;
  double found = 0;  ///< objects that were there and drawn
  double loose = 0;  ///< of these, those whose box overlaps the others' by less than kDrawnIou
  /// Sums of existence x (1 - existence) over the candidates drawn, and over those seen and not drawn.
  double found_doubt = 0, missed_doubt = 0;
  double missed = 0;               ///< objects that were there and not drawn
  double spurious = 0;             ///< boxes drawn where nothing was
  double boxes = 0;                ///< boxes of objects that somebody else drew too
  std::array<double, 4> weight{};  ///< per edge: sum of the outlier weights of the boxes that were objects
  std::array<double, 4> error{};   ///< weighted sum of edge errors, in noise scales
  std::array<double, 4> square{};  ///< weighted sum of expected squared edge errors
  std::array<double, 4> size_error{}, size_square{};  ///< the same in the object's widths and heights
  void merge(const SourceEvidence& other);
};

/// Images of one worklist.
struct WorklistEvidence {
  double images = 0;                               ///< that are not lone and that somebody saw who ever draws
  double blank_images = 0;                         ///< of these, those that are blank
  std::array<double, kObjectRates> rate_images{};  ///< how many of the others have each object rate
  void merge(const WorklistEvidence& other);
};

/// Everything the sources' posteriors need to know of the images.
struct AbsenceAwareEvidence {
  std::vector<SourceEvidence> source;
  ConfusionColumns confusion;       ///< expected counts (source, true class, given class)
  std::vector<double> class_count;  ///< J, expected objects of each class
  std::array<WorklistEvidence, kWorklists> worklist{};
  double image_bound = 0;  ///< the images' part of the bound; filled by consensus_of_image alone
  std::array<double, kScoreLevels> real_level{}, spurious_level{};  ///< the detector's boxes by score
  /// Throws std::invalid_argument unless both have the same sources, classes and confusion columns.
  void merge(const AbsenceAwareEvidence& other);
};

/// Equal probabilities.
[[nodiscard]] constexpr std::array<double, kObjectRates> even_shares() {
  std::array<double, kObjectRates> out{};
  for (double& share : out) share = 1.0 / static_cast<double>(kObjectRates);
  return out;
}

/// What is known of the images of one worklist before anybody has drawn.
struct WorklistPriors {
  std::array<double, kObjectRates> object_share = even_shares();  ///< of images that are not blank, by object rate
  double blank_share = 0.5;                                       ///< of images
};

/// Priors shared by all sources. They are fitted to the crowd (empirical Bayes), so these values are only a start.
struct AbsenceAwarePriors {
  std::array<double, 4> precision_shape{2, 2, 2, 2};  ///< Gamma prior of an edge's precision
  std::array<double, 4> precision_rate{0.0288, 0.0288, 0.0288, 0.0288};
  std::array<double, 4> bias_strength{10, 10, 10, 10};  ///< bias ~ N(0, 1 / (strength * precision))
  double recall_a = 8, recall_b = 2;                    ///< Beta prior of the recall
  double spurious_shape = 1, spurious_rate = 3;         ///< Gamma prior of spurious boxes per image
  std::array<WorklistPriors, kWorklists> worklist;
  double right_strength = 1.5,
         wrong_strength = 1;  ///< typical Dirichlet weight of the right class and of all the wrong
  std::vector<double> ease;   ///< by true class: what the weight of the right class is multiplied by
  double ease_shape = 2;      ///< ease ~ Gamma(shape, shape): the larger, the more alike are the classes
  WrongShares wrong_share;
  double tail = 5;                             ///< degrees of freedom of the Student-t edge error
  std::array<double, 2> size_power{0.5, 0.5};  ///< edge error grows as (width, height) to this power
  std::array<double, 2> reference_size{1, 1};  ///< pixels; the crowd's median width and height
};

/// Posterior of one source.
struct SourceBelief {
  bool active = false;                           ///< saw at least one image (or has evidence from before)
  bool draws = false;                            ///< drew at least one box, here or before
  std::array<double, 4> shape{}, rate{};         ///< precision of an edge ~ Gamma(shape, rate)
  std::array<double, 4> bias{}, bias_count{};    ///< bias | precision ~ N(bias, 1 / (bias_count * precision))
  double recall_a = 1, recall_b = 1;             ///< Beta
  double spurious_shape = 1, spurious_rate = 1;  ///< Gamma
  double right_strength = 3, wrong_strength = 2;
  double confusion_divergence = 0;  ///< KL(posterior || prior) of its confusion matrix
  // Expectations of the above.
  std::array<double, 4> precision{}, log_precision{};
  std::array<double, 4> bias_doubt{};  ///< 1 / bias_count
  double log_edges = 0;                ///< sum over edges of (E ln precision - ln 2 pi) / 2
  double log_recall = 0, log_miss = 0, log_spurious = 0;
  [[nodiscard]] double mean_recall() const { return recall_a / (recall_a + recall_b); }
  [[nodiscard]] double mean_spurious() const { return spurious_shape / spurious_rate; }
};

/// The labels that beliefs about confusions rest on. Empty: not kept.
struct LabelCounts {
  ConfusionCells cells;            ///< in the columns of AbsenceAwareBeliefs::log_confusion
  std::vector<double> of_class{};  ///< [k * J + j]: labels of source k on objects of class j
  /// By class, of the objects that one source alone drew. Empty: as of all objects.
  std::vector<double> single_share{};
};

/// All that was learnt. Produced by a fit, enough to make targets for any image of the same crowd.
struct AbsenceAwareBeliefs {
  std::size_t annotators = 0, classes = 0;
  bool has_detector = false;
  /// Whether at least half of the looks at images were at images that another source saw too; looks of sources that
  /// never drew anything do not count, for they can confirm nothing. If not, nothing can tell objects from inventions:
  /// then a box in an image that one such source saw is real with exactly the probability kLoneBoxIsReal, and such
  /// images say nothing of recall, spurious rate and object rate.
  bool corroborated = true;
  AbsenceAwarePriors priors;
  std::vector<SourceBelief> source;
  std::vector<std::uint8_t> worklist;  ///< of every annotator
  /// Who errs alike (Dependence), by source: source k on dependent_on[dependent_begin[k] .. [k+1]); empty: nobody.
  std::vector<std::size_t> dependent_begin;
  std::vector<std::int32_t> dependent_on;
  std::vector<double> dependent_share;
  ConfusionColumns log_confusion;  ///< E[ln pi_jl] of the columns in use
  LabelCounts labels;
  std::vector<double> class_weight, log_class;                        ///< Dirichlet posterior and its E[ln]
  std::array<double, kScoreLevels> real_weight{}, spurious_weight{};  ///< Dirichlet posteriors
  std::array<double, kScoreLevels> log_real_level{}, log_spurious_level{};
  [[nodiscard]] std::size_t sources() const { return annotators + (has_detector ? 1U : 0U); }
};

/// The kinds of update. An observer gets the bound after each.
/// `dependence` sets what each look counts, once: it changes what is bounded, so the bound may jump there.
enum class AbsenceAwareUpdate { partition, sources, shift, boxes, noise_shape, dependence };

struct AbsenceAwareOptions {
  int max_rounds = 50;
  /// Stop when a round raises the bound by less than this times (its size, at least 20,000, and 10,000 for each of the
  /// first hundred sources, 100,000 for each further one, 1,000 for each box beyond 50,000).
  double tolerance = 1e-6;
  double min_existence = 1e-6;  ///< candidates below are left out of the targets
  int threads = 0;              ///< 0: all cores. The result has the same bits for any number.
  /// Counted earlier, in box sizes (AbsenceAwareResult::evidence). Classes as in this crowd; sources 0..K-1 are its
  /// annotators, one more may be the detector; any columns.
  const AbsenceAwareEvidence* prior_evidence = nullptr;
  const AbsenceAwarePriors* priors = nullptr;  ///< where the fit of the priors starts
  bool keep_log_confusion = true;              ///< false: result.beliefs.log_confusion is left empty, to save memory
  std::function<void(int round, double bound, double change)> progress;  ///< may throw to stop the work
  std::function<void(AbsenceAwareUpdate, double bound)> observer;        ///< for tests; costs a pass per update
  /// Processes that fit the crowd together: all have it whole, each works on a part of its images. The same bits for
  /// any number.
  Ranks* ranks = &Ranks::alone();
  Whole whole = Whole::in_first;  ///< who gets the targets
};

struct AbsenceAwareResult {
  Targets
      targets;  ///< existence, located and box_std filled; weight = existence; score = existence * class * expected IoU
  AbsenceAwareBeliefs beliefs;
  /// Of this crowd, prior_evidence not included. Edge errors are in widths and heights of the object here, whatever the
  /// noise scale, so that evidence of different crowds adds.
  AbsenceAwareEvidence evidence;
  std::vector<double> bound;  ///< after each round
  Dependence dependence;      ///< of the sources, the detector included
  int rounds = 0;
  bool converged = false;
  std::size_t skipped_boxes = 0;  ///< annotations and predictions that were no valid boxes
};

/// Fits the model. Works without assignments (then: annotators who drew in the image) and without predictions.
/// Throws DataError when predictions and crowd differ in images or classes.
[[nodiscard]] AbsenceAwareResult run_absence_aware(const CrowdData& crowd, const Predictions* predictions,
                                                   const AbsenceAwareOptions& options = {});

/// One image, for training: what the sources drew and who looked.
struct ImageLabels {
  double width = 0, height = 0;        ///< pixels; 0 when unknown
  Span<const Annotation> annotations;  ///< their image index is ignored
  Span<const Assignment> seen_by;
  // The detector's boxes; ignored unless the beliefs have a detector.
  Span<const Box> prediction_box;
  Span<const double> prediction_score;
  Span<const double> prediction_class_probs;  ///< N x J
  std::optional<Box> view{};                  ///< what the detector was shown of the image; nothing: all of it
};

/// What a crowd says of one image; without predictions.
[[nodiscard]] ImageLabels labels_of_image(const CrowdData& crowd, std::size_t image);

/// Beliefs before any image was seen: the priors, and columns for every class that an annotator of the crowd used.
/// extra: more columns that must be there (annotators and classes as in the crowd), or none.
[[nodiscard]] AbsenceAwareBeliefs initial_beliefs(const CrowdData& crowd, bool has_detector,
                                                  const ConfusionColumns* extra = nullptr);

/// Empty evidence of the shape that `beliefs` needs.
[[nodiscard]] AbsenceAwareEvidence empty_evidence(const AbsenceAwareBeliefs& beliefs);

/// Targets of one image under fixed beliefs (Targets::begin is {0, T}); its evidence is added to `evidence` when given.
/// Thread-safe for distinct `evidence`.
[[nodiscard]] Targets consensus_of_image(const AbsenceAwareBeliefs& beliefs, const ImageLabels& labels,
                                         double min_existence, AbsenceAwareEvidence* evidence);

/// Beliefs from evidence: empirical-Bayes priors and conjugate posteriors.
void update_beliefs(AbsenceAwareBeliefs& beliefs, const AbsenceAwareEvidence& evidence, int threads = 0);

/// The lower bound for images whose evidence consensus_of_image collected under these very beliefs.
[[nodiscard]] double bound_of_evidence(const AbsenceAwareBeliefs& beliefs, const AbsenceAwareEvidence& evidence);

/// The evidence with edge errors in widths and heights, the form in which evidence of different crowds adds.
[[nodiscard]] AbsenceAwareEvidence in_box_sizes(AbsenceAwareEvidence evidence);

}  // namespace bdc
