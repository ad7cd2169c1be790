#pragma once

#include <cstdint>

#include "data/box_map.h"

namespace bdc::host {

/// How far training images may be changed. All zero: not at all.
struct AugmentSettings {
  double rotate = 0;                 ///< most degrees, either way
  double translate = 0;              ///< most of the image's width and height
  double zoom = 0;                   ///< size changes by a factor in [1 - zoom, 1 + zoom]
  double shear = 0;                  ///< most degrees, along either axis
  double flip_x = 0, flip_y = 0;     ///< probability of left-right and of upside-down
  double hue = 0;                    ///< most of the colour circle, either way
  double saturation = 0, value = 0;  ///< changes by a factor in [1 - s, 1 + s]
  double mosaic = 0;                 ///< probability that an image becomes one of four in a mosaic (mosaic.h)
};

/// What was drawn for one image. The default changes nothing.
struct Augmentation {
  double angle = 0, shear_x = 0, shear_y = 0;  ///< radians
  double shift_x = 0, shift_y = 0;             ///< of the image's width and height
  double zoom = 1;
  bool flip_x = false, flip_y = false;
  double hue = 0, saturation = 1, value = 1;

  /// Whether anything but a flip moves pixels.
  [[nodiscard]] bool warps() const;
  [[nodiscard]] bool recolours() const;
};

/// Depends on the settings, the seed, the epoch and the image's index alone. A setting that is changed changes its own
/// draw only.
[[nodiscard]] Augmentation draw_augmentation(const AugmentSettings& settings, std::uint64_t seed, std::int64_t epoch,
                                             std::int64_t index);

/// All geometric steps as one map: an image of original_width x original_height is scaled to content_width x
/// content_height at the top left of the input, then, about the content's centre, flipped, zoomed, sheared, turned, and
/// at last shifted.
[[nodiscard]] AffineMap augmented_map(const Augmentation& augmentation, double original_width, double original_height,
                                      double content_width, double content_height);

}  // namespace bdc::host
