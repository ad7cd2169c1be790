#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "bdc/base/random.h"
#include "bdc/crowd/crowd_data.h"

namespace bdc::host {

/// A box as somebody drew it, in pixels of the image.
struct Drawing {
  Box box;
  std::int32_t label = 0;
  std::int32_t object = -1;  ///< row of the truth that it was drawn for; -1: for none, or nobody knows
};

/// How one annotator draws. Kinds of crowds differ in this alone: parametric ones, detectors, networks.
class Hand {
 public:
  virtual ~Hand() = default;
  /// Appends what is drawn in an image, given its truth. Depends on the image and on `random` alone, and is safe to
  /// call from several threads at once.
  virtual void draw(const CrowdData& truth, std::size_t image, Random& random, std::vector<Drawing>& out) const = 0;
};

/// The true quality of a simulated annotator, for reports next to what was learnt.
struct SimulatedAnnotator {
  std::string name;                      ///< "expert-1", as in the labels
  std::string skill;                     ///< "expert", "average", "poor", "random", or the name of a group
  double recall = 0, spurious_rate = 0;  ///< spurious boxes per image
  double class_accuracy = 0;             ///< 1 / classes for one who guesses
  /// A drawn box: centre + size * (bias[0..1] + noise), size * exp(bias[2..3] + noise), noise normal with deviations
  /// noise[0..3]; then clipped to the image and rounded to whole pixels.
  std::array<double, 4> bias{}, noise{};
  double coverage = 1;  ///< share of the images that were seen
  /// Of annotators with networks: P(given class | true class), (J + 1) x (J + 1), the last is background; bias and
  /// noise are not theirs to set. Otherwise empty.
  std::vector<double> confusion;
};

}  // namespace bdc::host
