#pragma once

#include <array>

#include "bdc/crowd/geometry.h"

namespace bdc {

/// Index of entry (row, column), row <= column, in a packed symmetric 4 x 4 matrix: 00 01 02 03 11 12 13 22 23 33.
[[nodiscard]] constexpr std::size_t packed(std::size_t row, std::size_t column) {
  return row <= column ? row * 4 + column - row * (row + 1) / 2 : packed(column, row);
}

/// Gaussian-Gamma prior of an annotator's box error.
struct BoxPrior {
  std::array<double, 4> mean{};  ///< mu0
  double strength = 1;           ///< pseudo-count of mu0
  double upsilon = 10;
  double beta = 0.5;            ///< diagonal of beta0; off the diagonal it is 0
  bool full_covariance = true;  ///< false: covariances are neither gathered nor kept
};

/// Sums over an annotator's matched boxes: all that the posterior needs to know of them. Deviations are errors minus
/// the prior mean. Adding in another order changes the last bits only; add in a fixed order where bits must repeat.
struct BoxErrorSums {
  double count = 0;                ///< M
  std::array<double, 4> sum{};     ///< of deviations
  std::array<double, 10> cross{};  ///< of products of deviations, packed

  void add(const std::array<double, 4>& deviation, bool full_covariance) {
    count += 1;
    for (std::size_t i = 0; i < 4; ++i) sum[i] += deviation[i];
    if (full_covariance) {
      std::size_t n = 0;
      for (std::size_t i = 0; i < 4; ++i) {
        for (std::size_t j = i; j < 4; ++j) cross[n++] += deviation[i] * deviation[j];
      }
    } else {
      cross[0] += deviation[0] * deviation[0];
      cross[4] += deviation[1] * deviation[1];
      cross[7] += deviation[2] * deviation[2];
      cross[9] += deviation[3] * deviation[3];
    }
  }
  void merge(const BoxErrorSums& other);
};

/// Posterior of an annotator's box error; its covariance is beta / upsilon.
struct BoxPosterior {
  std::array<double, 4> mean{};
  double upsilon = 0;
  std::array<double, 10> beta{};  ///< packed

  /// upsilon / diag(beta): the weight of the annotator's coordinates (cx, cy, w, h).
  [[nodiscard]] std::array<double, 4> precision() const;
};

/// With M errors of mean m and the prior's strength s:
///   mu = (s mu0 + M m) / (s + M),  upsilon = upsilon0 + M/2,
///   beta = beta0 + 1/2 sum (e-m)(e-m)^T + s M / (2 (s + M)) (m - mu0)(m - mu0)^T.
/// M = 0 gives the prior.
[[nodiscard]] BoxPosterior update_box_posterior(const BoxPrior& prior, const BoxErrorSums& sums);

}  // namespace bdc
