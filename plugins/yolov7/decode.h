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

/// Score = objectness * best class; class_probs = the class values divided by their sum. Class-agnostic suppression,
/// per image, on at most kMostSuppressed boxes (the best ones).
[[nodiscard]] bdc::plugin::Predictions predictions(const Heads& heads, const bdc::plugin::DecodeOptions& options);
constexpr std::int64_t kMostSuppressed = 4096;

}  // namespace yolov7
