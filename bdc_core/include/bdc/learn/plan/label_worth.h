#pragma once

#include <cstddef>

#include "bdc/crowd/targets.h"

/// What labels are worth, place by place. A place is right with probability q: something is there, of its most probable
/// class, and the box is near enough (mean over IoU .50 to .95). In average precision an object that is right counts by
/// the precision at its rank; where probabilities can be believed, that is about its own q. So a place is worth q^2, an
/// object found, named, in place and known to be 1. What is learnt about a place is never expected to be worth less
/// than nothing, because q^2 is convex.
namespace bdc {

/// Mean over the IoU thresholds .50, .55, ... .95 of the probability that a box reaches them, whose four edges have
/// independent normal errors with deviations that sum to `spread`, in widths and heights of the object.
[[nodiscard]] double expected_box_share(double spread);

/// That sum for target n; 0 where the method knows no deviations.
[[nodiscard]] double box_spread(const Targets& targets, std::size_t n);

/// Probability that target n is an object; its weight (at most 1) where the method has no such notion.
[[nodiscard]] double existence_of(const Targets& targets, std::size_t n);

/// Worth of a place that is right with this probability, in objects.
[[nodiscard]] constexpr double label_worth(double right) {
  return right * right;
}

/// Probability that target n is right.
[[nodiscard]] double right_of(const Targets& targets, std::size_t n);

}  // namespace bdc
