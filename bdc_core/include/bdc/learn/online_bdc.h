#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "bdc/base/span.h"
#include "bdc/crowd/crowd_data.h"
#include "bdc/crowd/targets.h"
#include "bdc/learn/annotator_posteriors.h"

namespace bdc {

/// A detector's boxes on one image, in pixels of the original image, best first.
struct DetectedBoxes {
  Span<const Box> box;
  Span<const double> score;        ///< 0..1
  Span<const double> class_probs;  ///< N x J, rows sum to 1
};

struct OnlineBdcSettings {
  std::string profile = "absence_aware";  ///< or "paper", "reference"
  /// absence_aware: whether the detector is a source. The other profiles know objects only through it.
  bool use_detector = true;
  double min_weight = 0.05;          ///< targets with less are left out
  std::size_t max_detections = 100;  ///< per image; the rest is not looked at
  int threads = 0;
};

/// BDC beside a training run: images come a few at a time, with what the detector sees in them now, and leave as
/// targets; once an epoch the annotators' posteriors are updated from the evidence of all its images.
///
///   for each image of the epoch, in any order:  targets = observe(image, detections)
///   at the end of the epoch:                    finish_epoch()
///
/// An image may come once per epoch. Truth is never looked at. Not safe to use from several threads at once.
class OnlineBdc {
 public:
  virtual ~OnlineBdc() = default;

  /// The consensus of the annotations alone, of all images: what to train on until the detector has something to say.
  [[nodiscard]] virtual const Targets& without_detector() const = 0;
  /// Targets of one image (Targets::begin is {0, T}), under the posteriors of the last epoch's end.
  virtual Targets observe(std::size_t image, const DetectedBoxes& detections) = 0;
  /// Updates the posteriors. Returns the lower bound of the epoch's images under the posteriors they were seen with.
  virtual double finish_epoch() = 0;
  /// What is believed of the annotators: after the last finish_epoch, or at first from the annotations alone.
  [[nodiscard]] virtual AnnotatorPosteriors posteriors() const = 0;

  /// All that later results depend on, bit for bit, the evidence of a half-done epoch included.
  [[nodiscard]] virtual std::string save() const = 0;
  /// Throws std::invalid_argument unless the bytes were saved by the same profile on the same crowd.
  virtual void load(const std::string& bytes) = 0;
};

/// crowd must stay alive. Fits the annotations first, which may take a while. Throws DataError for a crowd without
/// annotators or annotations, std::invalid_argument for an unknown profile.
[[nodiscard]] std::unique_ptr<OnlineBdc> make_online_bdc(const CrowdData& crowd, const OnlineBdcSettings& settings);

}  // namespace bdc
