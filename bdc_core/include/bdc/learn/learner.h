#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "bdc/base/ranks.h"
#include "bdc/base/span.h"
#include "bdc/crowd/crowd_data.h"
#include "bdc/crowd/detected_boxes.h"
#include "bdc/crowd/predictions.h"
#include "bdc/crowd/targets.h"
#include "bdc/crowd/targets_of_ranks.h"
#include "bdc/learn/annotator_posteriors.h"
#include "bdc/learn/dependence.h"

namespace bdc {

/// How far a fit is. Learners that iterate report once a round, others once in a while.
struct Progress {
  int round = 0, max_rounds = 0;  ///< 0 of 0 for a learner without rounds
  double bound = 0;               ///< the lower bound after this round
  double change = 0;              ///< the relative change that decides convergence
  std::size_t images_done = 0, images = 0;
};

struct FitInput {
  const CrowdData* crowd = nullptr;               ///< finalized; its truth is never looked at
  const Predictions* predictions = nullptr;       ///< a detector's output on the same images, or none
  const AnnotatorPosteriors* prior = nullptr;     ///< from an earlier project, or none
  int threads = 0;                                ///< 0: all cores. The result has the same bits for any number.
  std::uint64_t seed = 0;                         ///< for learners that draw random numbers
  std::function<void(const Progress&)> progress;  ///< may be empty; may throw to stop the work
  /// Processes that fit the same input together. The result has the same bits for any number of them, and in each but
  /// for the targets, of which ranks that do not get the whole may have none.
  Ranks* ranks = &Ranks::alone();
  Whole whole = Whole::in_first;
};

struct FitResult {
  Targets targets;
  std::optional<AnnotatorPosteriors> posteriors;  ///< of learners that learn annotators
  std::optional<Dependence> dependence;           ///< of learners that ask who errs alike, when somebody does
  std::vector<double> bound;                      ///< lower bound after each round; empty for learners without one
  int rounds = 0;
  bool converged = true;
  std::vector<std::string> warnings;  ///< sentences for the user, with counts
};

/// Throws std::invalid_argument unless there is a finalized crowd, DataError unless its boxes are boxes and the
/// predictions, where given, fit it.
void check_input(const FitInput& input);

/// A view of one image's predictions; empty without predictions.
[[nodiscard]] DetectedBoxes detections_of(const Predictions* predictions, std::size_t image);

/// What the images of an epoch have taught so far: all that finish_epoch needs to know of them.
///
/// Learners that saw disjoint parts of the images under the same posteriors merge their evidence into that of the
/// whole, *bit for bit*: whichever images each part holds, in whichever order they came, and in whichever order the
/// parts are merged. Learners with sums keep them as ExactSum, those with a record per image keep the records; a new
/// learner must do one or the other. So shards and machines agree:
///
///   each shard:  observe its images                    all:  finish_epoch, same posteriors everywhere
///   any one:     merge_saved the others', save         the others:  load those bytes
class Evidence {
 public:
  virtual ~Evidence() = default;

  /// How many images it holds.
  [[nodiscard]] virtual std::size_t images() const = 0;
  /// Adds evidence of other images. Throws std::invalid_argument unless it is of the same learner on the same crowd, or
  /// when it is noticed that both hold the same image.
  virtual void merge(const Evidence& other) = 0;
  /// As bytes for another process; in place of what is held; and added to it as merge does. load and merge_saved throw
  /// std::invalid_argument for bytes that are not of the same learner on the same crowd.
  [[nodiscard]] virtual std::string save() const = 0;
  virtual void load(const std::string& bytes) = 0;
  virtual void merge_saved(const std::string& bytes) = 0;
};

/// Everything that makes one consensus of many annotators' labels. Two ways to use it, which do not mix:
///
///   labels alone:        result = fit(crowd, predictions, ...)
///
///   beside a detector:   begin(crowd)
///                        for each image of the epoch, in any order:  targets = observe(image, what the detector sees)
///                        at the end of the epoch:                    finish_epoch()
///
/// Truth is never looked at. Not safe to use from several threads at once. learners.h has the table of all learners.
class Learner {
 public:
  virtual ~Learner() = default;

  /// The whole crowd, to convergence. May be called again, with any crowd. Throws DataError when the input does not fit
  /// (for example predictions with other classes). Unless a learner knows better: begin, then rounds of observe and
  /// finish_epoch until the bound settles.
  [[nodiscard]] virtual FitResult fit(const FitInput& input);

  /// Starts a training run on a crowd, which must stay alive. Fits the annotations alone, which may take a while, and
  /// which ranks of one training run may share. Everything below needs it. Throws DataError for a crowd that cannot
  /// teach anything.
  virtual void begin(const CrowdData& crowd, int threads, Ranks& ranks) = 0;
  void begin(const CrowdData& crowd, int threads) { begin(crowd, threads, Ranks::alone()); }

  /// The consensus of the annotations alone, of all images: what to train on until the detector has something to say.
  [[nodiscard]] virtual const Targets& without_detector() const = 0;
  /// Targets of one image (Targets::begin is {0, T}), under the posteriors of the last epoch's end; collects evidence.
  /// An image may come once per epoch.
  virtual Targets observe(std::size_t image, const DetectedBoxes& detections) = 0;
  /// Of the epoch under way.
  [[nodiscard]] virtual Evidence& evidence() = 0;
  /// Posteriors from the evidence, which is then empty. Returns the lower bound of the epoch's images under the
  /// posteriors they were seen with; 0 for learners without one.
  virtual double finish_epoch() = 0;
  /// What is believed of the annotators: after the last finish_epoch, or at first from the annotations alone. Nothing
  /// for learners that learn nothing.
  [[nodiscard]] virtual std::optional<AnnotatorPosteriors> posteriors() const = 0;

  /// All that later results depend on, bit for bit, the evidence of a half-done epoch included.
  [[nodiscard]] virtual std::string save() const = 0;
  /// Throws std::invalid_argument unless the bytes were saved by the same learner on the same crowd, by a version of
  /// the program whose states this one reads.
  virtual void load(const std::string& bytes) = 0;
};

}  // namespace bdc
