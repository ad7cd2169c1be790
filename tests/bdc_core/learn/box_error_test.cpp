#include "bdc/learn/bdc/box_error.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace {

using Error = std::array<double, 4>;

std::vector<Error> random_errors(unsigned seed, std::size_t count, const Error& center) {
  std::mt19937 rng(seed);
  std::normal_distribution<double> noise(0, 0.2);
  std::vector<Error> errors(count);
  for (Error& e : errors) {
    for (std::size_t i = 0; i < 4; ++i) e[i] = center[i] + noise(rng);
  }
  return errors;
}

bdc::BoxErrorSums sums_of(const bdc::BoxPrior& prior, const std::vector<Error>& errors) {
  bdc::BoxErrorSums sums;
  for (Error e : errors) {
    for (std::size_t i = 0; i < 4; ++i) e[i] -= prior.mean[i];
    sums.add(e, prior.full_covariance);
  }
  return sums;
}

TEST(BoxPosterior, WithoutErrorsIsThePrior) {
  bdc::BoxPrior prior;
  prior.mean = {0, 0, 1, 1};
  const bdc::BoxPosterior p = bdc::update_box_posterior(prior, {});
  EXPECT_EQ(p.mean, prior.mean);
  EXPECT_EQ(p.upsilon, prior.upsilon);
  for (std::size_t i = 0; i < 4; ++i) {
    for (std::size_t j = i; j < 4; ++j) EXPECT_EQ(p.beta[bdc::packed(i, j)], i == j ? prior.beta : 0.0);
  }
}

TEST(BoxPosterior, IsTheEquationsWrittenAsLoops) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    bdc::BoxPrior prior;
    prior.mean = {0, 0.1, 1, 1};
    prior.strength = 1 + seed % 3;
    const auto errors = random_errors(seed, 1 + seed * 3, {0.02, -0.3, 1.1, 0.8});
    const double M = static_cast<double>(errors.size()), s = prior.strength;
    Error mean{};
    for (const Error& e : errors) {
      for (std::size_t i = 0; i < 4; ++i) mean[i] += e[i] / M;
    }
    const bdc::BoxPosterior p = bdc::update_box_posterior(prior, sums_of(prior, errors));
    EXPECT_DOUBLE_EQ(p.upsilon, prior.upsilon + M / 2);
    for (std::size_t i = 0; i < 4; ++i) {
      EXPECT_NEAR(p.mean[i], (s * prior.mean[i] + M * mean[i]) / (s + M), 1e-12);
      for (std::size_t j = i; j < 4; ++j) {
        double scatter = 0;
        for (const Error& e : errors) scatter += (e[i] - mean[i]) * (e[j] - mean[j]);
        const double shrink = s * M / (2 * (s + M)) * (mean[i] - prior.mean[i]) * (mean[j] - prior.mean[j]);
        EXPECT_NEAR(p.beta[bdc::packed(i, j)], (i == j ? prior.beta : 0.0) + scatter / 2 + shrink, 1e-12);
      }
    }
  }
}

TEST(BoxPosterior, DiagonalIsTheDiagonalOfTheFullOne) {
  bdc::BoxPrior full, diagonal;
  diagonal.full_covariance = false;
  const auto errors = random_errors(5, 30, {});
  const bdc::BoxPosterior a = bdc::update_box_posterior(full, sums_of(full, errors));
  const bdc::BoxPosterior b = bdc::update_box_posterior(diagonal, sums_of(diagonal, errors));
  EXPECT_EQ(a.precision(), b.precision());
  EXPECT_EQ(a.mean, b.mean);
  EXPECT_NE(a.beta[bdc::packed(0, 1)], 0);
  EXPECT_EQ(b.beta[bdc::packed(0, 1)], 0);
}

TEST(BoxErrorSums, MergingIsAddingAll) {
  const bdc::BoxPrior prior;
  const auto first = random_errors(1, 10, {}), second = random_errors(2, 7, {});
  auto both = first;
  both.insert(both.end(), second.begin(), second.end());
  bdc::BoxErrorSums merged = sums_of(prior, first);
  merged.merge(sums_of(prior, second));
  const bdc::BoxErrorSums all = sums_of(prior, both);
  EXPECT_EQ(merged.count, all.count);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(merged.sum[i], all.sum[i], 1e-13);
  for (std::size_t i = 0; i < 10; ++i) EXPECT_NEAR(merged.cross[i], all.cross[i], 1e-13);
}

}  // namespace
