#pragma once

#include "learn/bdc/absence_aware/image_state.h"

/// The classes that a candidate may be of. With few classes, all. With many, those that somebody gave to a box of the
/// same heap, boxes that overlap directly or by way of others: that an object is of a class nobody thought of is left
/// out of q(t), which keeps the bound a bound, and the work follows the annotations instead of the classes.
namespace bdc::absence_aware {

/// Up to so many classes are all looked at.
inline constexpr std::size_t kFewClasses = 32;
/// A prediction brings the classes to which it gives at least this, and its best one.
inline constexpr double kThoughtOf = 0.01;

/// Fills the image's class sets; neighbours must be there.
void find_class_sets(const ImageItems& image, std::size_t classes, ImageState& state);

}  // namespace bdc::absence_aware
