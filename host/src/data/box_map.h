#pragma once

#include <array>
#include <optional>

#include "bdc/crowd/box.h"

/// Boxes between an image's original frame and the detector's input frame. Pixels are areas: pixel (i, j) covers
/// [i, i+1] x [j, j+1], so a flip of an image of width w is x' = w - x.
namespace bdc::host {

/// x' = m[0] x + m[1] y + m[2], y' = m[3] x + m[4] y + m[5], as in plugin::Affine.
using AffineMap = std::array<double, 6>;

/// `second` after `first`.
[[nodiscard]] AffineMap compose(const AffineMap& second, const AffineMap& first);

/// The upright box around the mapped box: its centre is the mapped centre, its size is |A| times the size.
[[nodiscard]] Box map_box(const AffineMap& map, const Box& box);

/// The inverse of map_box: unmap_box(m, map_box(m, b)) == b up to rounding. (Mapping corners with the inverse map would
/// give a box that is too large after a rotation, because the upright box around a turned box grew already.) Where the
/// map turns by so much (towards 45 degrees) that sizes cannot be told apart, or where no box of positive size leads to
/// this one, the size is only divided by the map's scale along each axis.
/// Throws std::domain_error when the map is singular.
[[nodiscard]] Box unmap_box(const AffineMap& map, const Box& box);

/// The part of a mapped box inside `area`. Nothing when less than a tenth of the box's area is left or its width or
/// height is below 2 pixels: too little to learn from.
[[nodiscard]] std::optional<Box> clip_box(const Box& box, const Box& area);

/// clip_box to an input of width x height.
[[nodiscard]] std::optional<Box> clip_to_input(const Box& box, double width, double height);

}  // namespace bdc::host
