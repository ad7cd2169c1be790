#pragma once

#include <vector>

#include "bdc/base/random.h"

/// Draws from the distributions that simulated annotators follow; the same numbers everywhere.
namespace bdc::host {

/// Gamma with the given shape (above 0) and scale 1.
[[nodiscard]] double draw_gamma(double shape, Random& random);

/// Dirichlet: shares that sum to 1. An entry with parameter 0 is 0. Throws std::invalid_argument unless all parameters
/// are finite and not negative, and one is above 0.
[[nodiscard]] std::vector<double> draw_dirichlet(const std::vector<double>& parameters, Random& random);

/// An index with probability proportional to its weight, by one uniform number. Weights of 0 are never drawn. Throws
/// std::invalid_argument unless their sum is finite and above 0.
[[nodiscard]] std::size_t draw_index(const std::vector<double>& weights, Random& random);

}  // namespace bdc::host
