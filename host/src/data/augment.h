#pragma once

#include <cstdint>

#include "data/box_map.h"
#include "engine_api/run_config.h"

namespace bdc::host {

/// How far training images may be changed: the keys train.augment.*. All zero: not at all. Angles are in degrees,
/// either way; hue is in parts of the colour circle.
using AugmentSettings = AugmentConfig;

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
