#include "bdc/learn/bdc/box_error.h"

namespace bdc {

void BoxErrorSums::merge(const BoxErrorSums& other) {
  count += other.count;
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += other.sum[i];
  for (std::size_t i = 0; i < cross.size(); ++i) cross[i] += other.cross[i];
}

std::array<double, 4> BoxPosterior::precision() const {
  return {upsilon / beta[packed(0, 0)], upsilon / beta[packed(1, 1)], upsilon / beta[packed(2, 2)],
          upsilon / beta[packed(3, 3)]};
}

BoxPosterior update_box_posterior(const BoxPrior& prior, const BoxErrorSums& sums) {
  const double M = sums.count;
  BoxPosterior posterior;
  std::array<double, 4> mean_deviation{};
  for (std::size_t i = 0; i < 4; ++i) {
    if (M > 0) mean_deviation[i] = sums.sum[i] / M;
    posterior.mean[i] = prior.mean[i] + sums.sum[i] / (prior.strength + M);
  }
  posterior.upsilon = prior.upsilon + M / 2;
  const double shrink = prior.strength * M / (prior.strength + M);
  for (std::size_t i = 0; i < 4; ++i) {
    for (std::size_t j = i; j < 4; ++j) {
      const std::size_t n = packed(i, j);
      const double square = mean_deviation[i] * mean_deviation[j];
      if (i == j || prior.full_covariance) {
        posterior.beta[n] = (i == j ? prior.beta : 0.0) + (sums.cross[n] - M * square) / 2 + shrink * square / 2;
      }
    }
  }
  return posterior;
}

}  // namespace bdc
