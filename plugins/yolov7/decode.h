#pragma once

#include <bdc/plugin/detector.h>

#include <cstdint>

#include "yolov7/heads.h"

namespace yolov7 {

/// Boxes the network is sure enough of, in no particular order inside an image.
struct Sightings {
  Tensor boxes;       ///< N x 4 xyxy, pixels of the input, not clipped
  Tensor objectness;  ///< N
  Tensor classes;     ///< N x J, each 0..1; with one class 1 (that class is not trained)
  Tensor image;       ///< N int64, not decreasing

  [[nodiscard]] Tensor scores() const;  ///< N: objectness * best class
};

/// All boxes whose objectness is above min_objectness. Looks at the objectness alone first. No gradient.
[[nodiscard]] Sightings sightings(const Heads& heads, double min_objectness);

/// Boxes with a label each, best first inside an image.
struct Found {
  Sightings seen;  ///< a row per detection: a box with two labels is there twice
  Tensor labels;   ///< N int64
  Tensor scores;   ///< N: objectness * class
};

/// How many labels a box may have: every class whose score is above the limit (the published evaluation), or only the
/// likeliest.
enum class LabelsPerBox { every, best };

/// The published post-processing, non_max_suppression: score = objectness * class, suppression by class, per image, on
/// at most kMostDetections labelled boxes (the best ones).
[[nodiscard]] Found found(const Heads& heads, const bdc::plugin::DecodeOptions& options, LabelsPerBox labels);
constexpr std::int64_t kMostDetections = 30000;

/// Score = objectness * best class; class_probs = the class values divided by their sum. Class-agnostic suppression,
/// per image, on at most kMostSuppressed boxes (the best ones).
[[nodiscard]] bdc::plugin::Predictions predictions(const Heads& heads, const bdc::plugin::DecodeOptions& options);
constexpr std::int64_t kMostSuppressed = 4096;

}  // namespace yolov7
